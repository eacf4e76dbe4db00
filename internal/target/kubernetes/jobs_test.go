package kubernetes

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/target"
)

// A head that runs and does not answer may have a job, be it ready or not; one that
// is not there has none.
func TestBusyWithoutAnswer(t *testing.T) {
	l := newLab(t)
	idle := func(when string) {
		t.Helper()
		if job, err := Busy(t.Context(), l.admin, "gpu"); job != "" || err != nil {
			t.Errorf("%s: job %q, error %v", when, job, err)
		}
	}
	silent := func(when, why string) {
		t.Helper()
		job, err := Busy(t.Context(), l.admin, "gpu")
		if job != "" || err == nil || !strings.Contains(err.Error(), `asking Ray cluster "gpu" what runs on it`) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: job %q, error %v; want that it does not tell, and %q", when, job, err, why)
		}
	}
	idle("without a RayCluster")
	made, err := l.admin.Of(me).Apply(t.Context(), kube.Real, l.rayCluster())
	l.Must(err)
	uid := made[0].GetUID()
	idle("without a head that runs")
	l.room()
	var pod *corev1.Pod
	l.Until("the head", func() bool {
		pod, err = head(t.Context(), l.admin, "gpu", uid)
		return err == nil
	})
	silent("with a head that is ready", "")
	l.Until("the end of its readiness", func() bool {
		l.unready(pod)
		_, err := head(t.Context(), l.admin, "gpu", uid)
		return err != nil
	})
	silent("with a head whose node does not answer", "its head runs and is not ready")
}

// What is still there of a RayCluster that was deleted is not the new one's.
func TestHeadOfBefore(t *testing.T) {
	l := newLab(t)
	l.room()
	made, err := l.admin.Of(me).Apply(t.Context(), kube.Real, l.rayCluster())
	l.Must(err)
	l.Until("the head", func() bool {
		_, err := head(t.Context(), l.admin, "gpu", made[0].GetUID())
		return err == nil
	})
	const another = types.UID("another")
	if pod, err := head(t.Context(), l.admin, "gpu", another); !errors.Is(err, errNoHead) {
		t.Errorf("head %v, error %v; want none", pod, err)
	}
	if err := (&Cluster{kube: l.admin, name: "gpu", uid: another}).Lost(t.Context()); !errors.Is(err, target.ErrLost) {
		t.Errorf("error %v, want that it is lost", err)
	}
}

func TestRuns(t *testing.T) {
	pod := func(phase corev1.PodPhase, state corev1.ContainerState) *corev1.Pod {
		p := rayPod("h", "head", false)
		p.Spec.Containers = []corev1.Container{{Name: "ray-head"}, {Name: "sidecar"}}
		p.Status.Phase = phase
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "sidecar"}, {Name: "ray-head", State: state}}
		return p
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	if !runs(pod(corev1.PodRunning, running)) {
		t.Error("a head that runs does not")
	}
	for name, p := range map[string]*corev1.Pod{
		"pending": pod(corev1.PodPending, waiting), "failed": pod(corev1.PodFailed, running), "crashing": pod(corev1.PodRunning, waiting),
	} {
		if runs(p) {
			t.Errorf("a head that is %s runs", name)
		}
	}
}

// unready makes a pod what the node controller makes of those whose node does not
// answer. The node is nobody's from now on, or kwok would make it ready again.
func (l lab) unready(pod *corev1.Pod) {
	l.Helper()
	node := &corev1.Node{}
	node.Name = pod.Spec.NodeName
	l.Must(l.Patch(l.Context(), node, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"kwok.x-k8s.io/node":null}}}`))))
	ready := `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"NodeNotReady"}]}}`
	l.Must(l.Status().Patch(l.Context(), pod, client.RawPatch(types.StrategicMergePatchType, []byte(ready))))
}
