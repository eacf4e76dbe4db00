package kubernetes

import (
	"errors"
	"strings"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/target"
)

func TestStateText(t *testing.T) {
	condition := func(kind rayv1.RayClusterConditionType, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: string(kind), Status: status, Reason: reason, Message: message}
	}
	fine := []metav1.Condition{
		condition(rayv1.HeadPodReady, metav1.ConditionTrue, rayv1.HeadPodRunningAndReady, ""),
		condition(rayv1.RayClusterProvisioned, metav1.ConditionTrue, rayv1.AllPodRunningAndReadyFirstTime, "all"),
		condition(rayv1.RayClusterSuspended, metav1.ConditionFalse, "RayClusterSuspended", ""),
	}
	for want, status := range map[string]rayv1.RayClusterStatus{
		"none yet":         {},
		"ready":            {State: rayv1.Ready, Conditions: fine},
		"failed (no room)": {State: rayv1.Failed, Reason: "no room"},
		"ready, HeadPodReady is False (ContainersNotReady: the head is gone), ReplicaFailure is True (FailedCreateWorkerPod)": {
			State: rayv1.Ready, Conditions: []metav1.Condition{
				condition(rayv1.HeadPodReady, metav1.ConditionFalse, "ContainersNotReady", "the head is gone"), fine[1], fine[2],
				condition(rayv1.RayClusterReplicaFailure, metav1.ConditionTrue, "FailedCreateWorkerPod", ""),
			},
		},
	} {
		if got := stateText(status); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Who loses the head is told what KubeRay says of the RayCluster.
func TestLostWithState(t *testing.T) {
	l := newLab(t)
	l.room()
	made, err := l.admin.Of(me).Apply(t.Context(), kube.Real, l.rayCluster())
	l.Must(err)
	cluster := &Cluster{kube: l.admin, name: "gpu", uid: made[0].GetUID()}
	var pod *corev1.Pod
	l.Until("state of the RayCluster", func() bool {
		pod, err = head(t.Context(), l.admin, cluster.name, cluster.uid)
		return err == nil && strings.HasPrefix(stateOf(t.Context(), l.admin, cluster.name, cluster.uid), "the state of RayCluster gpu: ready")
	})
	lost := make(chan error, 1)
	go func() { lost <- cluster.Lost(t.Context()) }()
	l.Until("end", func() bool {
		// Again and again: the watch may have begun after the first head.
		l.Must(client.IgnoreNotFound(l.Delete(t.Context(), pod, client.GracePeriodSeconds(0))))
		if now, err := head(t.Context(), l.admin, cluster.name, cluster.uid); err == nil {
			pod = now
		}
		select {
		case err = <-lost:
			return true
		default:
			return false
		}
	})
	if !errors.Is(err, target.ErrLost) || !strings.Contains(err.Error(), "; the state of RayCluster gpu: ready") {
		t.Errorf("error %v, want the RayCluster's state", err)
	}
	t.Log(err)
}
