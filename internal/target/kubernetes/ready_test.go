package kubernetes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/internal/kube"
)

// theCluster identifies the RayCluster that pods are of.
const theCluster = types.UID("gpu")

func rayPod(name, kind string, ready bool) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), Labels: map[string]string{rayNodeTypeLabel: kind},
		OwnerReferences: []metav1.OwnerReference{{UID: theCluster, Controller: ptr.To(true)}},
	}}
	if ready {
		pod.Spec.NodeName = "node-1"
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}
	}
	return pod
}

// before makes a pod one of a RayCluster of the same name that was deleted.
func before(pod *corev1.Pod) *corev1.Pod {
	pod.OwnerReferences[0].UID = "of before"
	return pod
}

func stuck(name, image string) *corev1.Pod {
	pod := rayPod(name, "worker", false)
	pod.Spec.NodeName = "node-1"
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "ray-worker", Image: image,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "InvalidImageName", Message: "couldn't parse image name"}},
	}}
	return pod
}

// crashed is a worker that ended often, last at a minute of the hour.
func crashed(name string, minute int) *corev1.Pod {
	pod := stuck(name, "image")
	pod.Status.ContainerStatuses[0].RestartCount = 5
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	pod.Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at(minute)}}
	return pod
}

// headSince is a head that became ready at a minute of the hour.
func headSince(minute int) *corev1.Pod {
	pod := rayPod("h", "head", true)
	pod.Status.Conditions[1].LastTransitionTime = at(minute)
	return pod
}

func at(minute int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 11, 1, 12, minute, 0, 0, time.UTC))
}

func TestReadiness(t *testing.T) {
	for _, test := range []struct {
		name     string
		pods     []*corev1.Pod
		done     bool
		text     string // part of
		hopeless string // part of; empty: not
	}{
		{"no pods yet", nil, false, "head is starting, 0 of 2 workers are ready", ""},
		{"one is missing", []*corev1.Pod{rayPod("h", "head", true), rayPod("w0", "worker", true)}, false, "head is ready, 1 of 2 workers are ready", ""},
		{"no head", []*corev1.Pod{rayPod("w0", "worker", true), rayPod("w1", "worker", true)}, false, "head is starting, 2 of 2", ""},
		{"all", []*corev1.Pod{rayPod("h", "head", true), rayPod("w0", "worker", true), rayPod("w1", "worker", true)}, true, "head is ready, 2 of 2", ""},
		{"a head, and workers of before", []*corev1.Pod{rayPod("h", "head", true), before(rayPod("w0", "worker", true)), before(stuck("w1", "A B"))}, false, "head is ready, 0 of 2", ""},
		{"only those of before", []*corev1.Pod{before(rayPod("h", "head", true)), before(rayPod("w0", "worker", true)), before(rayPod("w1", "worker", true))}, false, "head is starting, 0 of 2", ""},
		{
			"two for one reason",
			[]*corev1.Pod{rayPod("h", "head", true), stuck("w0", "A B"), stuck("w1", "A B")},
			false,
			"0 of 2 workers are ready; pod w0 and 1 more:", "pod w0 and 1 more:",
		},
		{"a worker that ends beside a ready head", []*corev1.Pod{crashed("w0", 2), headSince(1)}, false, "head is ready, 0 of 2", "pod w0: container ray-worker ended with exit code 1"},
		{"a worker that ended before the head was ready", []*corev1.Pod{crashed("w0", 1), headSince(2)}, false, "head is ready, 0 of 2 workers are ready; pod w0: ", ""},
		{"a worker that ends without a head", []*corev1.Pod{crashed("w0", 1), rayPod("h", "head", false)}, false, "head is starting, 0 of 2 workers are ready; pod w0: ", ""},
	} {
		got := readinessOf(2, kube.Seen{Pods: test.pods}, theCluster, nil)
		if got.done() != test.done || !strings.Contains(got.String(), test.text) {
			t.Errorf("%s: done %v, %q; want %v and %q", test.name, got.done(), got, test.done, test.text)
		}
		err := got.hopeless()
		if (err == nil) != (test.hopeless == "") || err != nil && !strings.Contains(err.Error(), test.hopeless) {
			t.Errorf("%s: hopeless %v, want %q", test.name, err, test.hopeless)
		}
	}
}

// BenchmarkReadiness looks once at a thousand pods that no node of a thousand has
// room for.
func BenchmarkReadiness(b *testing.B) {
	seen := kube.Seen{Pods: []*corev1.Pod{rayPod("head", "head", true)}}
	for i := range 1000 {
		pod := rayPod(fmt.Sprintf("worker-%d", i), "worker", false)
		pod.Spec.NodeSelector = map[string]string{"role": "gpu-worker"}
		pod.Spec.Containers = []corev1.Container{{Name: "w", Resources: corev1.ResourceRequirements{Requests: resources("cpu", "160", "memory", "1600Gi", "nvidia.com/gpu", "8", "vpc.amazonaws.com/efa", "32")}}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1000 nodes are available: 1000 Insufficient nvidia.com/gpu."}}
		seen.Pods = append(seen.Pods, pod)
	}
	nodes := make([]corev1.Node, 1000)
	for i := range nodes {
		nodes[i] = freshNode(fmt.Sprintf("node-%d", i))
		nodes[i].Status.Allocatable = resources("cpu", "190", "memory", "2000Gi", "nvidia.com/gpu", "8", "vpc.amazonaws.com/efa", "32")
		nodes[i].Labels["role"] = "gpu-worker"
	}
	those := kube.NodesOf(nodes, false)
	for b.Loop() {
		if r := readinessOf(1000, seen, theCluster, those); r.workers != 0 || len(r.reasons) != 1 {
			b.Fatal(r)
		}
	}
}
