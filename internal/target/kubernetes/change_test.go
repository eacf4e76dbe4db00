package kubernetes

import (
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/internal/kube"
)

func TestChanged(t *testing.T) {
	shaped := func(workers int32, image string) *rayv1.RayCluster {
		group := rayv1.WorkerGroupSpec{Replicas: &workers, MinReplicas: &workers, MaxReplicas: &workers}
		group.Template.Spec.Containers = []corev1.Container{{Image: image}}
		return &rayv1.RayCluster{Spec: rayv1.RayClusterSpec{WorkerGroupSpecs: []rayv1.WorkerGroupSpec{group}}}
	}
	before := shaped(2, "a")
	for name, test := range map[string]struct {
		after *rayv1.RayCluster
		want  Change
	}{
		"nothing":       {shaped(2, "a"), Unchanged},
		"one more":      {shaped(3, "a"), Grown},
		"one fewer":     {shaped(1, "a"), Shrunk},
		"another image": {shaped(2, "b"), Remade},
		"both":          {shaped(3, "b"), Remade},
		"a worker to be gone": {func() *rayv1.RayCluster {
			c := shaped(2, "a")
			c.Spec.WorkerGroupSpecs[0].ScaleStrategy.WorkersToDelete = []string{"w"}
			return c
		}(), Unchanged},
		"suspended": {func() *rayv1.RayCluster { c := shaped(2, "a"); c.Spec.Suspend = ptr.To(true); return c }(), Remade},
	} {
		if got := changed(before, test.after); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// TestChangeOf asks the server, which adds defaults to what is sent, before and
// after the RayCluster is there.
func TestChangeOf(t *testing.T) {
	l := newLab(t)
	is := func(when string, cluster *rayv1.RayCluster, want Change) {
		t.Helper()
		if got, err := ChangeOf(t.Context(), l.admin, me, cluster); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", when, got, err, want)
		}
	}
	is("without one", l.rayCluster(), Made)
	_, err := l.admin.Of(me).Apply(t.Context(), kube.Real, l.rayCluster())
	l.Must(err)
	is("as it is", l.rayCluster(), Unchanged)
	other := l.rayCluster()
	other.Spec.RayVersion = "2.59.0"
	is("with another Ray", other, Remade)
	if _, err := ChangeOf(t.Context(), l.admin, kube.Owner{Cluster: "gpu", User: "eve"}, l.rayCluster()); err == nil {
		t.Error("somebody else's RayCluster was compared")
	}
}
