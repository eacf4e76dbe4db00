package kubernetes

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/raycluster"
)

// Where KubeRay makes no pods, it is said why: Kueue suspends what waits in a queue.
func TestWhyThereAreNoPods(t *testing.T) {
	l := newLab(t)
	says := func(want string) {
		t.Helper()
		if got := whySilent(t.Context(), l.admin, "gpu"); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	says("is its operator running?")
	cluster := l.rayCluster()
	cluster.Spec.Suspend = ptr.To(true)
	apply := func() {
		t.Helper()
		_, err := l.admin.Of(me).Apply(t.Context(), kube.Real, cluster.DeepCopy())
		l.Must(err)
	}
	apply()
	says("spec.suspend of the RayCluster is true")
	cluster.Labels = map[string]string{raycluster.QueueLabel: "team-a"}
	apply()
	says("Kueue has yet to admit it from queue team-a")
}
