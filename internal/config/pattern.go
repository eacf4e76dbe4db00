package config

import "regexp"

// What names and values of Kubernetes look like. Source: its page "Object
// Names and IDs", and its packages apimachinery/util/validation and
// apimachinery/api/resource.
var (
	optionalLabel     = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$`)
	subdomain         = regexp.MustCompile(`^` + subdomainPattern + `$`)
	optionalSubdomain = regexp.MustCompile(`^(` + subdomainPattern + `)?$`)
	labelValue        = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	qualifiedName     = regexp.MustCompile(`^(` + subdomainPattern + `/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	quantity          = regexp.MustCompile(`^(` + quantityPattern + `)?$`)
	someQuantity      = regexp.MustCompile(`^` + quantityPattern + `$`)
	pullPolicy        = regexp.MustCompile(`^(Always|IfNotPresent|Never)?$`)
)

const (
	subdomainPattern = `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*`
	quantityPattern  = `[0-9]{1,15}(\.[0-9]{1,9})?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?`
)

// clusterName is short enough for what KubeRay hangs on it: a RayJob may have
// 47 letters, and the name must do as that of a Service.
var clusterName = regexp.MustCompile(`^([a-z]([-a-z0-9]{0,45}[a-z0-9])?)?$`)

var rayVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([.+-]?[0-9A-Za-z.]+)?$`)

// imageReference is a name with a tag, a digest or both. Source: the grammar of
// github.com/distribution/reference.
var imageReference = regexp.MustCompile(
	`^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
