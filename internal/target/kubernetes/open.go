package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/wait"
)

// joinTimeout is how long Ray's nodes may take to join once their pods are
// ready.
const joinTimeout = 2 * time.Minute

// Open reaches the head of a RayCluster that is there.
func Open(ctx context.Context, k *kube.Cluster, owner kube.Owner, name string) (*Cluster, error) {
	found := rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: k.Namespace}}
	if err := k.Get(ctx, client.ObjectKeyFromObject(&found), &found); err != nil {
		return nil, fmt.Errorf("finding Ray cluster %q: %w", name, err)
	}
	secret, err := token(ctx, k, &found)
	if err != nil {
		return nil, err
	}
	// The tunnel outlives what interrupts the caller: a job has to be stopped then.
	tunnel, err := k.Forward(context.WithoutCancel(ctx), func(ctx context.Context) (*corev1.Pod, error) {
		return head(ctx, k, name, found.UID)
	}, dashboardPort)
	if err != nil {
		return nil, err
	}
	return &Cluster{kube: k, owner: owner, name: name, uid: found.UID, facts: FactsOf(&found), token: secret, tunnel: tunnel}, nil
}

// head finds the pod of the head: the one that is ready, where an older one is
// still on its way out. cluster identifies the RayCluster.
func head(ctx context.Context, k *kube.Cluster, name string, cluster types.UID) (*corev1.Pod, error) {
	var pods corev1.PodList
	if err := k.List(ctx, &pods, client.InNamespace(k.Namespace), headOf(name)); err != nil {
		return nil, err
	}
	err := errNoHead
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !isBy(cluster, pod) {
			continue
		}
		reason := kube.WhyNotReady(pod, nil, nil)
		switch {
		case reason.Cause == "":
			return pod, nil
		case runs(pod):
			err = fmt.Errorf("its head runs and is not ready: pod %s: %s", pod.Name, reason.Text)
		case errors.Is(err, errNoHead):
			err = fmt.Errorf("%w that runs: pod %s: %s", errNoHead, pod.Name, reason.Text)
		}
	}
	return nil, fmt.Errorf("reaching Ray cluster %q: %w", name, err)
}

// errNoHead is about a RayCluster in which no job can run.
var errNoHead = errors.New("it has no head")

// runs tells whether Ray may be at work in a pod, be it ready or not: its node may
// be out of reach, or its probes late. Between two runs of its container there is
// nothing.
func runs(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil &&
		!slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.Name == pod.Spec.Containers[0].Name && s.State.Running == nil // the others are sidecars
		})
}

// awaitNodes returns when Ray has all its nodes.
func (c *Cluster) awaitNodes(ctx context.Context) error {
	ray, err := rayjob.New(c.Endpoint().Address, c.token, rayjob.Options{})
	if err != nil {
		return err
	}
	want := c.facts.Nodes + 1
	err = wait.For(ctx, wait.Options{Timeout: joinTimeout}, func(ctx context.Context) (bool, string, error) {
		nodes, err := ray.Nodes(ctx)
		if err != nil {
			return false, "", err
		}
		alive := 0
		for _, n := range nodes {
			if n.Alive() {
				alive++
			}
		}
		return alive >= want, fmt.Sprintf("%d of %d nodes have joined", alive, want), nil
	})
	if err != nil {
		if why := c.tunnel.Problem(); why != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w; %w", err, why)
		}
		return fmt.Errorf("waiting for the nodes of Ray cluster %q: %w", c.name, err)
	}
	return nil
}
