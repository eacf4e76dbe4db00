package kube

import (
	"context"
	"errors"
	"fmt"
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

// bare takes away what somebody else has said around an explained error.
func bare(err error) error {
	var inner *explained
	if !errors.As(err, &inner) {
		return err
	}
	var plain error = inner
	for _, hint := range fault.HintsOf(err) {
		plain = fault.WithHint(hint, plain)
	}
	return plain
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
	kuberayHint = "install it with: " + InstallKubeRay
)

// statusWords is about an answer of the API server.
func (c *Cluster) statusWords(s metav1.Status) (text, hint string) {
	switch {
	case strings.Contains(s.Message, "denied the request: ") || strings.Contains(s.Message, "denied request: ") ||
		strings.Contains(s.Message, "denied the request without explanation"):
		return "a policy of the cluster denies it: " + s.Message, "ask who runs the cluster; the policy is named above"
	case strings.Contains(s.Message, "failed calling webhook"):
		return "a webhook of the cluster does not work: " + s.Message, "ask who runs the cluster: until that webhook answers, nothing that it checks can be made"
	case s.Reason == metav1.StatusReasonUnauthorized:
		return c.unauthorized()
	case hasCause(s, "NamespaceTerminating"):
		return "the namespace is being deleted", "wait until it is gone, or choose another with --namespace"
	case s.Reason == metav1.StatusReasonForbidden:
		return c.forbidden(s.Message)
	case s.Reason == metav1.StatusReasonNotFound && isNamespace(s):
		return fmt.Sprintf("there is no namespace %q", s.Details.Name),
			fmt.Sprintf("choose one with --namespace, or make it: kubectl create namespace %s", s.Details.Name)
	case s.Reason == metav1.StatusReasonNotFound && s.Details != nil && s.Details.Name == "" && s.Details.Group == rayGroup:
		return "KubeRay is not installed: the cluster serves no " + s.Details.Kind + "." + rayGroup, kuberayHint
	case hasCause(s, metav1.CauseTypeFieldManagerConflict):
		return managedByOthers(s), "undo that change, or delete the object and let it be made anew"
	case s.Reason == metav1.StatusReasonTooManyRequests || s.Reason == metav1.StatusReasonServiceUnavailable ||
		s.Reason == metav1.StatusReasonServerTimeout || s.Reason == metav1.StatusReasonTimeout:
		return fmt.Sprintf("the API server at %s is overloaded, or starting: %s", c.Server, s.Message), "try again in a minute"
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
