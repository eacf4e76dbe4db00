package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	ray "github.com/ray-project/kuberay/ray-operator/pkg/client/clientset/versioned"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/test/cluster/controlplane"
)

// TestCluster goes once through everything that a cluster of tests is for.
func TestCluster(t *testing.T) {
	p := start(t, build(t), "-dir", filepath.Join(t.TempDir(), "state"))
	kube, err := kubernetes.NewForConfig(p.config(t))
	if err != nil {
		t.Fatal(err)
	}
	rays, err := ray.NewForConfig(p.config(t))
	if err != nil {
		t.Fatal(err)
	}
	p.post(t, "/nodes", node("system", "3920m", "14848Mi", nil))
	p.post(t, "/nodes?count=2", node("gpu-worker", "47", "180Gi", corev1.ResourceList{
		"nvidia.com/gpu": resource.MustParse("4"), "vpc.amazonaws.com/efa": resource.MustParse("1"),
	}))
	c := lab{t, kube, rays}

	c.create(rayCluster("first", 2))
	c.untilReady("first", 2)
	c.bound("first")
	checkForward(t, p.config(t), c.head("first"))

	c.scale("first", 3)
	c.untilUnschedulable("first", "2 Insufficient nvidia.com/gpu, 2 Insufficient vpc.amazonaws.com/efa")

	p.post(t, "/restart/apiserver", nil)
	c.scale("first", 2)
	c.untilReady("first", 2)

	p.post(t, "/stop/operator", nil)
	if running := p.processes(t, "kuberay-operator"); len(running) > 0 {
		t.Errorf("the operator was stopped, and runs:\n%s", strings.Join(running, "\n"))
	}
	c.create(rayCluster("second", 0))
	p.post(t, "/start/operator", nil)
	c.untilReady("second", 0)

	checkUsers(t, p)
	if running := p.processes(t, ""); len(running) != 6 {
		t.Errorf("%d processes are seen while the cluster runs, want 6:\n%s", len(running), strings.Join(running, "\n"))
	}
	p.end(t)
	if left := p.processes(t, ""); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

// checkUsers makes users and sees what they may do.
func checkUsers(t *testing.T, p *program) {
	t.Helper()
	list := func(u controlplane.User) error {
		config, err := clientcmd.RESTConfigFromKubeConfig(p.post(t, "/users", u))
		if err != nil {
			t.Fatal(err)
		}
		kube, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = kube.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := list(controlplane.User{Name: "guest"}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without rights lists pods: %v", err)
	}
	if err := list(controlplane.User{Name: "late", NotAfter: time.Now().Add(-time.Minute)}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a user whose certificate has ended lists pods: %v", err)
	}
	if err := list(controlplane.User{Name: "boss", Groups: []string{"system:masters"}}); err != nil {
		t.Errorf("an administrator lists pods: %v", err)
	}
}

// TestKilled kills the program, and then the parent of another, as nothing can
// be caught, and looks at what is left.
func TestKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the processes of a program that was killed")
	}
	binary := build(t)
	p := start(t, binary)
	kill(t, p)
	eventually(t, func(context.Context) string { return strings.Join(p.processes(t, ""), "\n") })

	orphan := start(t, "sh", "-c", `"$0"; :`, binary)
	if _, err := os.Stat(filepath.Dir(p.kubeconfig)); !os.IsNotExist(err) {
		t.Errorf("the next program leaves the folder of one that was killed: %v", err)
	}
	kill(t, orphan)
	eventually(t, func(context.Context) string {
		left := orphan.processes(t, "")
		if _, err := os.Stat(filepath.Dir(orphan.kubeconfig)); !os.IsNotExist(err) {
			left = append(left, "its folder")
		}
		return strings.Join(left, "\n")
	})
}

func kill(t *testing.T, p *program) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
}

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
