package kubernetes

import (
	"context"
	"fmt"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
)

// A Change is what applying a RayCluster comes to for the one that is there.
type Change int

// The changes, from none to all.
const (
	Unchanged Change = iota
	Made             // there is none yet
	Grown            // it gets more workers
	Shrunk           // it gets fewer workers
	Remade           // its pods would not be as wanted: KubeRay leaves those that run as they are
)

// ChangeOf compares a RayCluster with the one that is there, as the server would
// have it with its defaults. It refuses one that is not the owner's.
func ChangeOf(ctx context.Context, k *kube.Cluster, owner kube.Owner, wanted *rayv1.RayCluster) (Change, error) {
	answer, err := k.Of(owner).Apply(ctx, kube.Server, wanted)
	if err != nil {
		return Unchanged, err
	}
	var after rayv1.RayCluster
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer[0].Object, &after); err != nil {
		return Unchanged, fmt.Errorf("reading what would become of Ray cluster %q: %w", wanted.Name, err)
	}
	before := rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: wanted.Name, Namespace: k.Namespace}}
	err = k.Get(ctx, client.ObjectKeyFromObject(&before), &before)
	switch {
	case apierrors.IsNotFound(err) || err == nil && before.DeletionTimestamp != nil:
		return Made, nil
	case err != nil:
		return Unchanged, fmt.Errorf("finding Ray cluster %q: %w", wanted.Name, err)
	}
	return changed(&before, &after), nil
}

func changed(before, after *rayv1.RayCluster) Change {
	was, is := FactsOf(before).Nodes, FactsOf(after).Nodes
	if !equality.Semantic.DeepEqual(shape(before), shape(after)) {
		return Remade
	}
	switch {
	case is > was:
		return Grown
	case is < was:
		return Shrunk
	}
	return Unchanged
}

// shape is the spec of a RayCluster without how many workers there are, which
// KubeRay changes while the others run.
func shape(cluster *rayv1.RayCluster) *rayv1.RayClusterSpec {
	spec := cluster.Spec.DeepCopy()
	for i := range spec.WorkerGroupSpecs {
		g := &spec.WorkerGroupSpecs[i]
		g.Replicas, g.MinReplicas, g.MaxReplicas = nil, nil, nil
		g.ScaleStrategy = rayv1.ScaleStrategy{}
	}
	return spec
}
