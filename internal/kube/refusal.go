package kube

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// refusalPatience is how long a server must refuse what it has allowed before it
// is believed: one that has just started does not know everybody's rights yet.
const refusalPatience = 15 * time.Second

// refusals are the answers to who asks for the same again and again.
type refusals struct {
	patience time.Duration
	allowed  bool      // it has been, once
	since    time.Time // the first refusal in a row; zero where the last answer was none
}

func (c *Cluster) refusals() *refusals { return &refusals{patience: c.refusal} }

// final tells whether an answer is a refusal for good. One counts when it comes
// twice: tokens are renewed after the first.
func (r *refusals) final(err error) bool {
	switch {
	case !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !meta.IsNoMatchError(err):
		r.since = time.Time{}
		return false
	case r.since.IsZero():
		r.since = time.Now()
		return false
	}
	return !r.allowed || time.Since(r.since) >= r.patience
}
