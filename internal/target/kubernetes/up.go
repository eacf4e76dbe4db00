package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/raycluster"
)

// Order says which RayCluster to bring up and how long to wait for it.
type Order struct {
	RayCluster *rayv1.RayCluster
	Owner      kube.Owner
	Nodes      []corev1.Node // of the cluster, as they were seen
	MayGrow    bool          // it makes more where pods want them: see State.Autoscaler

	// PendingTimeout is how long pods may wait for room, or for an autoscaler to
	// make it; 0: for ever.
	PendingTimeout time.Duration
	Progress       func(string) // may be nil
	Down           string       // the command that deletes the RayCluster, for those who are left with it
}

// Up makes the RayCluster, or changes the one that is there, and returns when its
// pods are ready and Ray itself counts all its nodes. It gives up at once on
// what does not heal. Interrupted, it leaves the RayCluster as it is: Up goes on
// with it, Delete removes it.
func Up(ctx context.Context, k *kube.Cluster, order Order) (*Cluster, error) {
	made, err := k.Of(order.Owner).Apply(ctx, kube.Real, order.RayCluster)
	if err != nil {
		return nil, err
	}
	cluster, err := complete(ctx, k, order, made[0].GetUID())
	if errors.Is(err, errDeleted) {
		return nil, err
	}
	return cluster, fault.WithHint(fmt.Sprintf("RayCluster %s stays: the same command goes on with it, %s deletes it", order.RayCluster.Name, order.Down), err)
}

// complete waits until a RayCluster that was made is all there.
func complete(ctx context.Context, k *kube.Cluster, order Order, uid types.UID) (*Cluster, error) {
	if err := awaitPods(ctx, k, order, uid); err != nil {
		return nil, err
	}
	cluster, err := Open(ctx, k, order.Owner, order.RayCluster.Name)
	if err != nil {
		return nil, err
	}
	if err := cluster.awaitNodes(ctx); err != nil {
		return nil, errors.Join(err, cluster.tunnel.Close())
	}
	return cluster, nil
}

// awaitPods returns when head and workers are ready, or their RayCluster is being
// deleted.
func awaitPods(ctx context.Context, k *kube.Cluster, order Order, uid types.UID) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	name := order.RayCluster.Name
	watching.Go(func() {
		if k.AwaitDeletion(ctx, rayv1.GroupVersion.WithKind("RayCluster"), name, uid) == nil {
			cancel(errDeleted)
		}
	})
	err := awaitReady(ctx, k, order, uid)
	if err != nil && errors.Is(context.Cause(ctx), errDeleted) {
		return fmt.Errorf("waiting for pods: RayCluster %q in namespace %q %w", name, k.Namespace, errDeleted)
	}
	return err
}

// awaitReady returns when head and workers are ready.
func awaitReady(ctx context.Context, k *kube.Cluster, order Order, uid types.UID) error {
	name, want := order.RayCluster.Name, FactsOf(order.RayCluster).Nodes
	if order.PendingTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, order.PendingTimeout, errPending)
		defer cancel()
	}
	progress := func(text string) {
		if order.Progress != nil {
			order.Progress(text)
		}
	}
	began := time.Now()
	silence := time.AfterFunc(operatorPatience, func() { progress(whySilent(ctx, k, name)) })
	defer silence.Stop()
	now := readiness{want: want}
	nodes := lastNodes{Nodes: kube.NodesOf(order.Nodes, order.MayGrow), mayGrow: order.MayGrow, at: began}
	err := k.WatchPods(ctx, k.Namespace, podsOf(name), []types.UID{uid}, func(seen kube.Seen) (bool, error) {
		now = nodes.judge(ctx, k, seen, func(nodes *kube.Nodes) readiness { return readinessOf(want, seen, uid, nodes) })
		if !now.silent {
			silence.Stop()
		}
		text := now.String()
		switch {
		case seen.Problem != nil:
			text = seen.Problem.Error() + "; waiting for it"
		case now.silent && time.Since(began) > operatorPatience:
			text = whySilent(ctx, k, name)
		}
		progress(text)
		return now.done() || now.hopeless() != nil, nil
	})
	if err == nil {
		return now.withLogs(ctx, k).hopeless()
	}
	if errors.Is(err, errPending) {
		ctx := context.WithoutCancel(ctx)
		text := now.withLogs(ctx, k).String()
		if now.silent {
			text = whySilent(ctx, k, name)
		}
		return fault.WithCode(fault.JobFailed, fault.WithHint(fmt.Sprintf("--pending-timeout, now %s, says how long they may take", order.PendingTimeout),
			fmt.Errorf("waiting for Ray cluster %q: %w; %s", name, err, text)))
	}
	return err
}

// operatorPatience is how long KubeRay may take to make the first pod, which it
// does within a second, before we wonder.
const operatorPatience = 10 * time.Second

// whySilent says why a RayCluster has no pods.
func whySilent(ctx context.Context, k *kube.Cluster, name string) string {
	cluster := rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: k.Namespace}}
	switch err := k.Get(ctx, client.ObjectKeyFromObject(&cluster), &cluster); {
	case err != nil || !ptr.Deref(cluster.Spec.Suspend, false):
		return "KubeRay makes no pods: is its operator running?"
	case cluster.Labels[raycluster.QueueLabel] != "":
		return fmt.Sprintf("it is suspended: Kueue has yet to admit it from queue %s", cluster.Labels[raycluster.QueueLabel])
	default:
		return "it is suspended: spec.suspend of the RayCluster is true"
	}
}

var (
	errPending = errors.New("its pods did not become ready in time")
	errDeleted = errors.New("was deleted")
)

// podsOf selects the pods of a RayCluster, headOf its head's.
func podsOf(name string) client.MatchingLabels { return client.MatchingLabels{rayClusterLabel: name} }

func headOf(name string) client.MatchingLabels {
	return client.MatchingLabels{rayClusterLabel: name, rayNodeTypeLabel: string(rayv1.HeadNode)}
}

// tokenKey is where KubeRay keeps Ray's token in the Secret that it makes.
const tokenKey = "auth_token"

// token reads the token of a RayCluster: from the Secret that it names, else from
// the one that KubeRay made under its own name.
func token(ctx context.Context, k *kube.Cluster, cluster *rayv1.RayCluster) (string, error) {
	auth := cluster.Spec.AuthOptions
	if auth == nil || auth.Mode != rayv1.AuthModeToken {
		return "", nil
	}
	name := cluster.Name
	if auth.SecretName != nil && *auth.SecretName != "" {
		name = *auth.SecretName
	}
	secret := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: k.Namespace}}
	if err := k.Get(ctx, client.ObjectKeyFromObject(&secret), &secret); err != nil {
		return "", fmt.Errorf("reading Ray's token: %w", err)
	}
	value := secret.Data[tokenKey]
	if len(value) == 0 {
		return "", fmt.Errorf("reading Ray's token: Secret %q has no key %s", name, tokenKey)
	}
	return string(value), nil
}
