package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/kube"
)

// mark is a label of the nodes that this program makes.
const mark = "bench"

// lab is what the benchmark makes in the cluster, gone with close.
type lab struct {
	cluster *kube.Cluster
	ray     *httptest.Server
	made    time.Duration // how long making the nodes took
	objects []client.Object
}

func newLab(ctx context.Context, o options, control string) (*lab, error) {
	cluster, err := kube.Connect(kube.Access{Kubeconfig: o.kubeconfig, Namespace: fmt.Sprintf("bench-%d", os.Getpid())})
	if err != nil {
		return nil, err
	}
	l := &lab{cluster: cluster, ray: dashboard(o.workers)}
	began := time.Now()
	gpu, err := gpuNode()
	if err == nil {
		err = errors.Join(makeNodes(ctx, control, gpu, o.nodes), makeNodes(ctx, control, headNode(), 1))
	}
	l.made = time.Since(began)
	forward, wrong := leadingTo(l.ray.Listener.Addr(), cluster.Namespace)
	err = errors.Join(err, wrong)
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster.Namespace}}, forward} {
		if err != nil {
			break
		}
		err = cluster.Create(ctx, object)
		l.objects = append(l.objects, object)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lab) close() {
	ctx := context.Background()
	for _, object := range l.objects {
		l.tell(l.cluster.Delete(ctx, object))
	}
	l.tell(l.cluster.DeleteAllOf(ctx, &corev1.Node{}, client.HasLabels{mark}))
	l.ray.Close()
}

// tell says what cannot be tidied up; what is not there is.
func (l *lab) tell(err error) {
	if client.IgnoreNotFound(err) != nil {
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
	}
}

// gpuNode is a node as Amazon EKS makes it, with all that its type has.
func gpuNode() (corev1.Node, error) {
	kind, err := instancetype.Lookup(nodeType)
	if err != nil {
		return corev1.Node{}, err
	}
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-gpu", Labels: map[string]string{
			mark: "", corev1.LabelInstanceTypeStable: nodeType, corev1.LabelTopologyZone: "us-east-1a", corev1.LabelTopologyRegion: "us-east-1",
			"nvidia.com/gpu.present": "true", "role": "gpu-worker",
		}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(kind.VCPUs)*1000-1900, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(int64(kind.MemoryMiB-kind.HugePagesMiB)<<20*95/100, resource.BinarySI),
			corev1.ResourcePods:   resource.MustParse("100"), corev1.ResourceHugePagesPrefix + "2Mi": *resource.NewQuantity(int64(kind.HugePagesMiB)<<20, resource.BinarySI),
			"nvidia.com/gpu":        *resource.NewQuantity(int64(kind.GPUs), resource.DecimalSI),
			"vpc.amazonaws.com/efa": *resource.NewQuantity(int64(kind.EFA), resource.DecimalSI),
		}},
	}, nil
}

// headNode is an m7i.xlarge.
func headNode() corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-system", Labels: map[string]string{mark: "", "role": "system"}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("3920m"), corev1.ResourceMemory: resource.MustParse("14848Mi"), corev1.ResourcePods: resource.MustParse("58"),
		}},
	}
}

func makeNodes(ctx context.Context, control string, node corev1.Node, count int) error {
	body, err := json.Marshal(node)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s/nodes?count=%d", control, count), bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("making nodes: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("making nodes: %s", response.Status)
	}
	return nil
}

// lastReady returns when so many pods of the benchmark were first ready at once.
func (l *lab) lastReady(ctx context.Context, count int) (time.Time, error) {
	stream, err := l.cluster.Watch(ctx, &corev1.PodList{}, client.InNamespace(l.cluster.Namespace), client.HasLabels{"ray.io/cluster"})
	if err != nil {
		return time.Time{}, err
	}
	defer stream.Stop()
	ready := map[string]bool{}
	for event := range stream.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			continue
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready[pod.Name] = true
			}
		}
		if len(ready) == count {
			return time.Now(), nil
		}
	}
	return time.Time{}, errors.New("watching pods: the watch ended")
}
