package kube

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// May asks the server whether the user may do something. An empty namespace is
// the whole cluster.
func (c *Cluster) May(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
	review := authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}
	err := c.Create(ctx, &review)
	return review.Status.Allowed, err
}
