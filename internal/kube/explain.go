package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/internal/fault"
)

// explained is an error in words that say what is the matter with a cluster.
// What it was made from is inside: apierrors.IsNotFound and the like see it.
type explained struct {
	text  string
	cause error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.cause }

// Explain says what an error of this cluster means, and hints at what to do
// next. Errors of a Cluster's own methods and of its client are explained
// already; it is for those that come on other roads, such as a RESTClient's.
// What it does not know it returns as it is, and so the end of a context.
func (c *Cluster) Explain(err error) error {
	var already *explained
	if err == nil || errors.As(err, &already) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	text, hint := c.words(err)
	if text == "" {
		return err
	}
	err = &explained{text, err}
	if hint != "" {
		err = fault.WithHint(hint, err)
	}
	return err
}

// words returns what err means and what to do about it; "" is unknown.
func (c *Cluster) words(err error) (text, hint string) {
	var status apierrors.APIStatus
	switch {
	case meta.IsNoMatchError(err):
		return unknownKind(err)
	case errors.As(err, &status):
		return c.statusWords(status.Status())
	default:
		return c.transportWords(err)
	}
}

// unknownKind is about a type that the cluster does not serve.
func unknownKind(err error) (text, hint string) {
	group, kind := "", ""
	var noKind *meta.NoKindMatchError
	var noResource *meta.NoResourceMatchError
	switch {
	case errors.As(err, &noKind):
		group, kind = noKind.GroupKind.Group, noKind.GroupKind.String()
	case errors.As(err, &noResource):
		group = noResource.PartialResource.Group
		kind = strings.TrimPrefix(noResource.PartialResource.GroupVersion().String()+" "+noResource.PartialResource.Resource, " ")
	}
	if group == rayGroup {
		return "KubeRay is not installed: the cluster serves no ray.io/v1", kuberayHint
	}
	return fmt.Sprintf("the cluster does not know %s: what defines it is not installed", strings.TrimSpace(kind)), ""
}

const (
	rayGroup    = "ray.io"
	kuberayHint = "Install it with: " + InstallKubeRay
)

// statusWords is about an answer of the API server.
func (c *Cluster) statusWords(s metav1.Status) (text, hint string) {
	switch {
	case strings.Contains(s.Message, "denied the request: ") || strings.Contains(s.Message, "denied request: ") ||
		strings.Contains(s.Message, "denied the request without explanation"):
		return "a policy of the cluster denies it: " + s.Message, "Ask who runs the cluster; the policy is named above."
	case strings.Contains(s.Message, "failed calling webhook"):
		return "a webhook of the cluster does not work: " + s.Message, "Ask who runs the cluster: until that webhook answers, nothing that it checks can be made."
	case s.Reason == metav1.StatusReasonUnauthorized:
		return c.unauthorized()
	case hasCause(s, "NamespaceTerminating"):
		return "the namespace is being deleted", "Wait until it is gone, or choose another with --namespace."
	case s.Reason == metav1.StatusReasonForbidden:
		return c.forbidden(s.Message)
	case s.Reason == metav1.StatusReasonNotFound && isNamespace(s):
		return fmt.Sprintf("there is no namespace %q", s.Details.Name),
			fmt.Sprintf("Choose one with --namespace, or make it: kubectl create namespace %s", s.Details.Name)
	case s.Reason == metav1.StatusReasonNotFound && s.Details != nil && s.Details.Name == "" && s.Details.Group == rayGroup:
		return "KubeRay is not installed: the cluster serves no " + s.Details.Kind + "." + rayGroup, kuberayHint
	case hasCause(s, metav1.CauseTypeFieldManagerConflict):
		return managedByOthers(s), "Undo that change, or delete the object and let it be made anew."
	case s.Reason == metav1.StatusReasonTooManyRequests || s.Reason == metav1.StatusReasonServiceUnavailable ||
		s.Reason == metav1.StatusReasonServerTimeout || s.Reason == metav1.StatusReasonTimeout:
		return fmt.Sprintf("the API server at %s is overloaded, or starting: %s", c.Server, s.Message), "Try again in a minute."
	}
	return "", ""
}

func isNamespace(s metav1.Status) bool {
	return s.Details != nil && s.Details.Kind == "namespaces" && s.Details.Group == ""
}

func hasCause(s metav1.Status, cause metav1.CauseType) bool {
	if s.Details == nil {
		return false
	}
	for _, c := range s.Details.Causes {
		if c.Type == cause {
			return true
		}
	}
	return false
}

// managedByOthers names each field that someone else applied, and who.
func managedByOthers(s metav1.Status) string {
	var fields []string
	for _, c := range s.Details.Causes {
		if c.Type == metav1.CauseTypeFieldManagerConflict {
			fields = append(fields, c.Field+" ("+c.Message+")")
		}
	}
	return "others have set fields that we would change: " + strings.Join(fields, ", ")
}

// denial is the sentence of RBAC, as k8s.io/apiserver writes it.
var denial = regexp.MustCompile(`User "([^"]*)" cannot (\S+) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)"| at the cluster scope)?(?:: (.*))?$`)

// quotaDenial is the sentence of the quota admission plugin.
var quotaDenial = regexp.MustCompile(`(?:exceeded|failed) quota: .*$`)

// forbidden tells RBAC, quotas and other admission plugins apart: all three
// answer 403.
func (c *Cluster) forbidden(message string) (text, hint string) {
	if quota := quotaDenial.FindString(message); quota != "" {
		return quota, "Ask for less, or for a larger quota; this shows what is used: kubectl describe quota" + c.flags(c.Namespace)
	}
	m := denial.FindStringSubmatch(message)
	if m == nil {
		return "the cluster does not allow it: " + message, ""
	}
	user, verb, resource, group, namespace, why := m[1], m[2], m[3], m[4], m[5], m[6]
	if group != "" {
		resource += "." + group
	}
	where := "in the whole cluster"
	if namespace != "" {
		where = fmt.Sprintf("in namespace %q", namespace)
	}
	text = fmt.Sprintf("user %q may not %s %s %s", user, verb, resource, where)
	if why != "" {
		text += " (" + why + ")"
	}
	if user == "system:anonymous" {
		return text, fmt.Sprintf("Context %q sends no credentials that the server knows: check its user in the kubeconfig.", c.Context)
	}
	return text, "Ask for a role that allows it; this shows what is allowed: kubectl auth can-i --list" + c.flags(namespace)
}

// flags are those of kubectl that lead it to the same place.
func (c *Cluster) flags(namespace string) string {
	text := ""
	if c.Context != "" {
		text += " --context " + c.Context
	}
	if namespace != "" {
		text += " --namespace " + namespace
	}
	return text
}

// unauthorized says what is wrong with the credentials, where it shows.
func (c *Cluster) unauthorized() (text, hint string) {
	text = fmt.Sprintf("the API server at %s does not accept the credentials of context %q", c.Server, c.Context)
	if c.Context == "" {
		text = fmt.Sprintf("the API server at %s does not accept the pod's service account", c.Server)
	}
	if what := expired(c.Config); what != "" {
		text += ": " + what
	}
	if plugin := c.Config.ExecProvider; plugin != nil {
		return text, fmt.Sprintf("They come from %q: log in again there, and see that this identity may use the cluster.", plugin.Command)
	}
	return text, "Get new ones: log in again, or have the kubeconfig written anew. On EKS: aws eks update-kubeconfig --name NAME"
}

// transportWords is about a request that got no answer.
func (c *Cluster) transportWords(err error) (text, hint string) {
	if _, why, ok := strings.Cut(err.Error(), "getting credentials: "); ok {
		return c.pluginWords(why)
	}
	var (
		record   tls.RecordHeaderError
		unverify *tls.CertificateVerificationError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		request  *url.Error
		network  net.Error
	)
	switch {
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("what answers at %s does not speak TLS", c.Server), "Check the server's address in the kubeconfig, and proxies on the way."
	case errors.As(err, &unverify), errors.As(err, &unknown), errors.As(err, &hostname), errors.As(err, &invalid):
		return fmt.Sprintf("the certificate of the API server at %s is not to be trusted: %s", c.Server, innermost(err)),
			"The kubeconfig may be of an older cluster at the same address; have it written anew."
	case errors.As(err, &network), errors.As(err, &request), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("the API server at %s cannot be reached: %s", c.Server, innermost(err)),
			"See that the cluster runs and that this machine may reach it: VPN, proxy, a private endpoint."
	}
	return "", ""
}

// pluginWords is about the program that the kubeconfig runs for credentials.
func (c *Cluster) pluginWords(why string) (text, hint string) {
	command := "a program"
	if plugin := c.Config.ExecProvider; plugin != nil {
		command = fmt.Sprintf("%q", plugin.Command)
		hint = "Run it by hand to see more, and log in again: " + strings.TrimSpace(plugin.Command+" "+strings.Join(plugin.Args, " "))
		if plugin.InstallHint != "" && strings.Contains(why, "not found") {
			hint = strings.TrimSpace(plugin.InstallHint)
		}
	}
	why, _, _ = strings.Cut(strings.TrimPrefix(why, "exec: "), "\n")
	return fmt.Sprintf("getting credentials from %s, which context %q uses: %s", command, c.Context, why), hint
}

// innermost returns the text of the error at the bottom of a chain, which says
// why without where.
func innermost(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}
