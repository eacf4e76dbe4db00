package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	ray "github.com/ray-project/kuberay/ray-operator/pkg/client/clientset/versioned"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// nodes runs the tests of real nodes, which need root and take minutes.
var nodes = flag.Bool("nodes", false, "test real nodes, too")

// TestNodes trains on a Ray in the pods of three real kubelets, switches one of
// them off and on, and looks at what is left.
func TestNodes(t *testing.T) {
	if !*nodes {
		t.Skip("without -nodes")
	}
	before := look(t)
	step := stopwatch(t)
	p := start(t, build(t), "-nodes", "3", "-dir", filepath.Join(t.TempDir(), "state"))
	step("three nodes are ready")
	kube, err := kubernetes.NewForConfig(p.config(t))
	if err != nil {
		t.Fatal(err)
	}
	rays, err := ray.NewForConfig(p.config(t))
	if err != nil {
		t.Fatal(err)
	}
	c := lab{t, kube, rays}
	shared := t.TempDir()

	c.create(realRayCluster(t, p, "real", shared))
	c.untilReady("real", 2)
	c.placed("real")
	step("a head and two workers are ready")
	c.train(p, "real", shared)
	step("a job of two workers has succeeded")

	p.post(t, "/freeze/node-2", nil)
	c.untilNodeIs("node-2", corev1.ConditionUnknown)
	step("a node hangs, and the cluster has noticed")
	p.post(t, "/start/node-2", nil)
	c.untilReady("real", 2)
	c.neverRestarted("real")
	step("it is ready, and so are its pods, which went on")

	p.post(t, "/stop/node-1", nil)
	if running := p.processes(t, "node-1"); len(running) > 0 {
		t.Errorf("the node is off, and runs:\n%s", strings.Join(running, "\n"))
	}
	p.post(t, "/start/node-1", nil)
	c.hasDevices("node-1")
	step("a node was off, and is ready")

	c.delete("real")
	step("no pod is left")
	p.end(t)
	step("the program has ended")
	before.compare(t)
}

// TestNodesKilled kills the program while a pod runs: nothing runs any more, and
// the next one removes what is left.
func TestNodesKilled(t *testing.T) {
	if !*nodes {
		t.Skip("without -nodes")
	}
	before := look(t)
	binary := build(t)
	p := start(t, binary, "-nodes", "1", "-dir", filepath.Join(t.TempDir(), "state"))
	kube, err := kubernetes.NewForConfig(p.config(t))
	if err != nil {
		t.Fatal(err)
	}
	sleeper := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "sleeper"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "sleeper", Image: p.image}},
	}}
	if _, err := kube.CoreV1().Pods("default").Create(t.Context(), sleeper, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) string {
		pod, err := kube.CoreV1().Pods("default").Get(ctx, "sleeper", metav1.GetOptions{})
		if err != nil || pod.Status.Phase == corev1.PodRunning {
			return text(err)
		}
		return string(pod.Status.Phase)
	})
	kill(t, p)
	eventually(t, func(context.Context) string { return strings.Join(p.processes(t, ""), "\n") })

	next := start(t, binary, "-nodes", "1", "-dir", filepath.Join(t.TempDir(), "next"))
	next.end(t)
	before.compare(t)
}

// stopwatch logs how long each step took.
func stopwatch(t *testing.T) func(what string) {
	last := time.Now()
	return func(what string) {
		t.Logf("%6.1fs  %s", time.Since(last).Seconds(), what)
		last = time.Now()
	}
}

// realRayCluster has what the pods of a real Ray mount: its Python, the job, and
// a folder that plays the shared file system.
func realRayCluster(t *testing.T, p *program, name, shared string) *rayv1.RayCluster {
	t.Helper()
	job, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	c := rayCluster(name, 2)
	head, worker := &c.Spec.HeadGroupSpec, &c.Spec.WorkerGroupSpecs[0]
	head.RayStartParams = map[string]string{"num-gpus": "0", "num-cpus": "0", "dashboard-host": "0.0.0.0", "object-store-memory": "200000000"}
	worker.RayStartParams = map[string]string{"num-cpus": "2", "object-store-memory": "200000000"}
	for _, spec := range []*corev1.PodSpec{&head.Template.Spec, &worker.Template.Spec} {
		spec.TerminationGracePeriodSeconds = ptr.To[int64](1) // nobody waits for what it has to say
		container := &spec.Containers[0]
		container.Image = p.image
		for _, r := range []corev1.ResourceList{container.Resources.Requests, container.Resources.Limits} {
			r[corev1.ResourceMemory] = resource.MustParse("4Gi")
		}
		for i, folder := range append(slices.Clone(p.mounts), job, shared) {
			volume := fmt.Sprintf("volume-%d", i)
			spec.Volumes = append(spec.Volumes, corev1.Volume{
				Name: volume, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
			})
			container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{
				Name: volume, MountPath: folder, ReadOnly: folder != shared,
			})
		}
	}
	return c
}

// placed checks that every pod runs on a node of its own, of its role, and has
// what the operator adds to a pod in which there is a Ray.
func (l lab) placed(name string) {
	l.t.Helper()
	used := map[string]bool{}
	for _, pod := range l.pods(l.t.Context(), name) {
		container := pod.Spec.Containers[0]
		if used[pod.Spec.NodeName] || (pod.Spec.NodeName == "node-0") != (pod.Spec.NodeSelector["role"] == "system") {
			l.t.Errorf("pod %s is on %s", pod.Name, pod.Spec.NodeName)
		}
		used[pod.Spec.NodeName] = true
		if container.LivenessProbe == nil || (len(pod.Spec.InitContainers) == 0 && container.Name == "ray-worker") {
			l.t.Errorf("the operator has added no probe or no container to %s that waits for the head", pod.Name)
		}
	}
	if len(used) != 3 {
		l.t.Errorf("pods on %d nodes, want 3", len(used))
	}
}

var saidSum = regexp.MustCompile(`rank (\d) on (\S+): sum 3`)

// train submits a job by a forwarded port and waits for its end.
func (l lab) train(p *program, name, shared string) {
	l.t.Helper()
	job, err := filepath.Abs("testdata/train.py")
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	url, err := forward(ctx, p.config(l.t), l.kube, l.head(name))
	if err != nil {
		l.t.Fatal(err)
	}
	d := dashboard{l.t, url}
	id := d.submit("python " + job + " " + shared)
	status := d.untilEnd(id)
	log := d.log(id)
	pods := map[string]string{}
	for _, match := range saidSum.FindAllStringSubmatch(log, -1) {
		pods[match[1]] = match[2]
	}
	if status != "SUCCEEDED" || len(pods) != 2 || pods["0"] == pods["1"] {
		l.t.Fatalf("the job is %s, ranks were on %v, its log:\n%s", status, pods, log)
	}
}

// untilNodeIs waits until a node's condition Ready has a status.
func (l lab) untilNodeIs(name string, want corev1.ConditionStatus) {
	l.t.Helper()
	eventually(l.t, func(ctx context.Context) string {
		node, err := l.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == want {
				return ""
			}
		}
		return "it is not"
	})
}

// neverRestarted checks that no container has ended.
func (l lab) neverRestarted(name string) {
	l.t.Helper()
	for _, pod := range l.pods(l.t.Context(), name) {
		for _, s := range pod.Status.ContainerStatuses {
			if s.RestartCount > 0 {
				l.t.Errorf("%s in %s has restarted", s.Name, pod.Name)
			}
		}
	}
}

func (l lab) hasDevices(name string) {
	l.t.Helper()
	node, err := l.kube.CoreV1().Nodes().Get(l.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	for device, want := range map[corev1.ResourceName]int64{"nvidia.com/gpu": 4, "vpc.amazonaws.com/efa": 1} {
		if quantity := node.Status.Allocatable[device]; quantity.Value() != want {
			l.t.Errorf("%s has %d of %s, want %d", name, quantity.Value(), device, want)
		}
	}
}

// delete deletes a RayCluster and waits until its pods are gone.
func (l lab) delete(name string) {
	l.t.Helper()
	if err := l.rays.RayV1().RayClusters("default").Delete(l.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
	eventually(l.t, func(ctx context.Context) string {
		var left []string
		for _, pod := range l.pods(ctx, name) {
			left = append(left, pod.Name)
		}
		return strings.Join(left, " ")
	})
}
