package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	ray "github.com/ray-project/kuberay/ray-operator/pkg/client/clientset/versioned"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// lab is a cluster with its clients.
type lab struct {
	t    *testing.T
	kube *kubernetes.Clientset
	rays *ray.Clientset
}

func (l lab) create(c *rayv1.RayCluster) {
	l.t.Helper()
	if _, err := l.rays.RayV1().RayClusters("default").Create(l.t.Context(), c, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// scale sets the number of workers; the operator writes the object, too.
func (l lab) scale(name string, workers int32) {
	l.t.Helper()
	eventually(l.t, func(ctx context.Context) string {
		c, err := l.rays.RayV1().RayClusters("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			setWorkers(&c.Spec.WorkerGroupSpecs[0], workers)
			_, err = l.rays.RayV1().RayClusters("default").Update(ctx, c, metav1.UpdateOptions{})
		}
		return text(err)
	})
}

func (l lab) untilReady(name string, workers int32) {
	l.t.Helper()
	eventually(l.t, func(ctx context.Context) string {
		c, err := l.rays.RayV1().RayClusters("default").Get(ctx, name, metav1.GetOptions{})
		ready := err == nil && meta.IsStatusConditionTrue(c.Status.Conditions, string(rayv1.RayClusterProvisioned))
		if err != nil || (ready && c.Status.ReadyWorkerReplicas == workers) {
			return text(err)
		}
		return fmt.Sprintf("ready: %t, with %d workers of %d", ready, c.Status.ReadyWorkerReplicas, workers)
	})
}

// bound checks that every pod runs on a node of its own group.
func (l lab) bound(name string) {
	l.t.Helper()
	pods := l.pods(l.t.Context(), name)
	if len(pods) != 3 {
		l.t.Errorf("%d pods, want a head and 2 workers", len(pods))
	}
	for _, pod := range pods {
		want := pod.Spec.NodeSelector["role"]
		if !strings.HasPrefix(pod.Spec.NodeName, want) || pod.Status.Phase != corev1.PodRunning {
			l.t.Errorf("pod %s is %s on %q, want it on %s", pod.Name, pod.Status.Phase, pod.Spec.NodeName, want)
		}
	}
}

// head returns the name of the head pod.
func (l lab) head(name string) string {
	l.t.Helper()
	for _, pod := range l.pods(l.t.Context(), name) {
		if pod.Labels["ray.io/node-type"] == "head" {
			return pod.Name
		}
	}
	l.t.Fatal("there is no head pod")
	return ""
}

// untilUnschedulable waits until the scheduler says why a pod has no node.
func (l lab) untilUnschedulable(name, reason string) {
	l.t.Helper()
	eventually(l.t, func(ctx context.Context) string {
		said := "no pod is unschedulable"
		for _, pod := range l.pods(ctx, name) {
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
					said = c.Message
				}
			}
		}
		if strings.Contains(said, reason) {
			return ""
		}
		return said
	})
}

func (l lab) pods(ctx context.Context, name string) []corev1.Pod {
	l.t.Helper()
	list, err := l.kube.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "ray.io/cluster=" + name})
	if err != nil {
		l.t.Fatal(err)
	}
	return list.Items
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// node is a fake node named after its role.
func node(role, cpu, memory string, devices corev1.ResourceList) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: role, Labels: map[string]string{"role": role}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}
	for name, quantity := range devices {
		n.Status.Allocatable[name] = quantity
	}
	return n
}

func rayCluster(name string, workers int32) *rayv1.RayCluster {
	group := rayv1.WorkerGroupSpec{
		GroupName:      "gpu",
		RayStartParams: map[string]string{},
		Template: pod("ray-worker", "gpu-worker", corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("16Gi"),
			"nvidia.com/gpu": resource.MustParse("4"), "vpc.amazonaws.com/efa": resource.MustParse("1"),
		}),
	}
	setWorkers(&group, workers)
	return &rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: rayv1.RayClusterSpec{
			RayVersion: "2.58.0",
			HeadGroupSpec: rayv1.HeadGroupSpec{
				RayStartParams: map[string]string{"num-gpus": "0"},
				Template: pod("ray-head", "system", corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("4Gi"),
				}),
			},
			WorkerGroupSpecs: []rayv1.WorkerGroupSpec{group},
		},
	}
}

func setWorkers(group *rayv1.WorkerGroupSpec, n int32) {
	group.Replicas, group.MinReplicas, group.MaxReplicas = ptr.To(n), ptr.To(n), ptr.To(n)
}

func pod(container, role string, resources corev1.ResourceList) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"role": role},
		Containers: []corev1.Container{{
			Name:      container,
			Image:     "example.invalid/ray:1",
			Resources: corev1.ResourceRequirements{Requests: resources, Limits: resources},
		}},
	}}
}
