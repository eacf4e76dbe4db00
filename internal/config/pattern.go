package config

import "regexp"

// What names and values of Kubernetes look like. Source: its page "Object
// Names and IDs", and its packages apimachinery/util/validation and
// apimachinery/api/resource.
var (
	optionalLabel     = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`)
	subdomain         = regexp.MustCompile(`^` + subdomainPattern + `$`)
	optionalSubdomain = regexp.MustCompile(`^(` + subdomainPattern + `)?$`)
	labelValue        = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`)
	qualifiedName     = regexp.MustCompile(`^(` + subdomainPattern + `/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	quantity          = regexp.MustCompile(`^(` + quantityPattern + `)?$`)
	someQuantity      = regexp.MustCompile(`^` + quantityPattern + `$`)
	pullPolicy        = regexp.MustCompile(`^(Always|IfNotPresent|Never)?$`)
)

const (
	subdomainPattern = `[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
	quantityPattern  = `[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?`
)

// The most letters that names and labels may have. They are not in the
// patterns, whose start-up would take a millisecond with them.
const (
	maxLabel     = 63
	maxSubdomain = 253
)

// clusterName must do as that of a Service, and be short enough for what
// KubeRay hangs on the name of a RayJob.
var clusterName = regexp.MustCompile(`^([a-z]([-a-z0-9]*[a-z0-9])?)?$`)

const maxClusterName = 47

var rayVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([.+-]?[0-9A-Za-z.]+)?$`)

// imageReference is a name with a tag, a digest or both. Source: the grammar of
// github.com/distribution/reference.
//
// A name may have 255 letters, a tag 128, a digest 71.
var imageReference = regexp.MustCompile(
	`^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(@sha256:[0-9a-f]{64})?$`)

const maxImage = 255 + 1 + 128 + 1 + 71
