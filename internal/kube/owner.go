package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The labels of everything that we make, by which it is found again.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by" // always Manager
	ClusterLabel   = "trainyard.dev/cluster"        // the name of the cluster it is part of
	OwnerLabel     = "trainyard.dev/owner"          // the user it is for
)

// An Owner says what our objects belong to. Those of the whole Kubernetes
// cluster, such as add-ons, have neither a cluster nor a user.
type Owner struct {
	Cluster string // a label value, or ""
	User    string // a label value, or ""
}

// Labels returns those that its objects carry.
func (o Owner) Labels() map[string]string {
	labels := map[string]string{ManagedByLabel: Manager}
	if o.Cluster != "" {
		labels[ClusterLabel] = o.Cluster
	}
	if o.User != "" {
		labels[OwnerLabel] = o.User
	}
	return labels
}

// Selector finds its objects in a List, a DeleteAllOf or a Watch.
func (o Owner) Selector() client.MatchingLabels { return o.Labels() }

// check returns an error, which names the object, where it is not the owner's.
func (o Owner) check(obj *unstructured.Unstructured) error {
	labels := obj.GetLabels()
	if labels[ManagedByLabel] != Manager {
		return fmt.Errorf("%s exists and is not ours: it has no label %s=%s", Title(obj), ManagedByLabel, Manager)
	}
	for label, want := range o.Labels() {
		if got := labels[label]; got != want {
			return fmt.Errorf("%s exists and is not ours: its label %s is %q, not %q", Title(obj), label, got, want)
		}
	}
	return nil
}

// Ours is what belongs to one owner in a cluster.
type Ours struct {
	c     *Cluster
	owner Owner
}

// Of returns what belongs to owner.
func (c *Cluster) Of(owner Owner) Ours { return Ours{c, owner} }

// Title names an object in a sentence: RayCluster "gpu" in namespace "team".
func Title(obj client.Object) string {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = "object"
	}
	title := fmt.Sprintf("%s %q", kind, obj.GetName())
	if obj.GetNamespace() != "" {
		title += fmt.Sprintf(" in namespace %q", obj.GetNamespace())
	}
	return title
}
