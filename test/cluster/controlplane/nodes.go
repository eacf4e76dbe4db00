package controlplane

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// FakeNode is the annotation by which kwok knows the nodes that it plays.
const FakeNode = "kwok.x-k8s.io/node"

// nodesAtOnce is how many nodes are made at the same time.
const nodesAtOnce = 16

// AddNodes makes a fake node of a template, or, where count is not 0, so many,
// named after it with -0, -1 and so on, and returns when all are ready for pods.
// What a template leaves out is filled in: Linux on amd64, room for 110 pods,
// and as much capacity as is allocatable.
func (c *Cluster) AddNodes(ctx context.Context, template *corev1.Node, count int) error {
	config, err := c.Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	nodes := fakeNodes(template, count)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(nodesAtOnce)
	for _, node := range nodes {
		group.Go(func() error {
			_, err := client.CoreV1().Nodes().Create(inner, node, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, node := range nodes {
		if err := untilReady(ctx, client, node.Name); err != nil {
			return fmt.Errorf("waiting for node %q: %w", node.Name, err)
		}
	}
	return nil
}

func fakeNodes(template *corev1.Node, count int) []*corev1.Node {
	if count == 0 {
		return []*corev1.Node{fakeNode(template, template.Name)}
	}
	nodes := make([]*corev1.Node, count)
	for i := range nodes {
		nodes[i] = fakeNode(template, fmt.Sprintf("%s-%d", template.Name, i))
	}
	return nodes
}

func fakeNode(template *corev1.Node, name string) *corev1.Node {
	node := template.DeepCopy()
	node.Name = name
	metav1.SetMetaDataAnnotation(&node.ObjectMeta, FakeNode, "fake")
	for key, value := range map[string]string{
		corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
	} {
		if _, set := node.Labels[key]; !set {
			metav1.SetMetaDataLabel(&node.ObjectMeta, key, value)
		}
	}
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = corev1.ResourceList{}
	}
	if node.Status.Allocatable.Pods().IsZero() {
		node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	}
	if node.Status.Capacity == nil {
		node.Status.Capacity = node.Status.Allocatable.DeepCopy()
	}
	return node
}

// untilReady waits until kwok, or a kubelet, says that the node is ready and the
// controllers have taken away the taint that every new node starts with.
func untilReady(ctx context.Context, client kubernetes.Interface, name string) error {
	return untilReadySince(ctx, client, name, time.Time{})
}

// untilReadySince does not believe what a kubelet said before a time, and waits
// for the node itself, too.
func untilReadySince(ctx context.Context, client kubernetes.Interface, name string, began time.Time) error {
	return wait.PollUntilContextTimeout(ctx, healthInterval, startTimeout, true, func(ctx context.Context) (bool, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			if !began.IsZero() {
				return false, nil
			}
			return false, fmt.Errorf("it was deleted: %w", err)
		}
		return err == nil && ready(node, began), err
	})
}

func ready(node *corev1.Node, began time.Time) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			// Times in objects are of whole seconds.
			return c.Status == corev1.ConditionTrue && !c.LastHeartbeatTime.Time.Before(began.Truncate(time.Second))
		}
	}
	return false
}
