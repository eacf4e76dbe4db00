package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/target"
)

// goneTimeout is how long a RayCluster may take to go: its pods are given a
// minute to end, and nodes that do not answer keep theirs for longer.
const goneTimeout = 10 * time.Minute

// dashboardPort is where the head serves Ray's HTTP API, inside the cluster
// alone.
const dashboardPort = 8265

// Cluster is a RayCluster that is up, reached through a tunnel to its head.
type Cluster struct {
	kube   *kube.Cluster
	owner  kube.Owner
	name   string
	uid    types.UID // of the RayCluster
	facts  target.Facts
	token  string
	tunnel *kube.Tunnel
}

var _ target.Cluster = (*Cluster)(nil)

// FactsOf are those of the cluster that a RayCluster describes: on each pod of
// workers a worker process for each GPU, or for each CPU where it has none.
func FactsOf(cluster *rayv1.RayCluster) target.Facts {
	var f target.Facts
	for _, group := range cluster.Spec.WorkerGroupSpecs {
		pod := group.Template.Spec
		pods, limits := int(ptr.Deref(group.Replicas, 0)), pod.Containers[0].Resources.Limits
		gpus := count(limits, gpuResource)
		f.Nodes += pods
		f.GPUs += pods * gpus
		f.WorkersPerNode = max(f.WorkersPerNode, cmp.Or(gpus, int(limits.Cpu().Value())))
		f.InstanceType = pod.NodeSelector[corev1.LabelInstanceTypeStable]
	}
	f.Hosts = f.Nodes
	return f
}

// ID is the RayCluster's namespace and name.
func (c *Cluster) ID() string { return c.kube.Namespace + "/" + c.name }

// Endpoint is this side of the tunnel, on loopback.
func (c *Cluster) Endpoint() target.Endpoint {
	return target.Endpoint{Address: "http://" + c.tunnel.Address(), Token: c.token}
}

// Facts of the cluster.
func (c *Cluster) Facts() target.Facts { return c.facts }

// LogReader is nil: the tunnel leads to the head alone, and its dashboard reads
// the logs of all nodes.
func (c *Cluster) LogReader(*rayjob.Client) rayjob.LogReader { return nil }

// Detach closes the tunnel. The RayCluster needs nobody here.
func (c *Cluster) Detach() error { return c.tunnel.Close() }

// Keep leaves the RayCluster as it is.
func (c *Cluster) Keep(context.Context) error { return c.tunnel.Close() }

// End deletes the RayCluster and waits until its pods are gone.
func (c *Cluster) End(ctx context.Context, progress func(string)) error {
	return errors.Join(c.tunnel.Close(), Delete(ctx, c.kube, c.owner, c.name, progress))
}

// Exists tells whether there is a RayCluster of a name. It is an error where that
// is not the owner's.
func Exists(ctx context.Context, k *kube.Cluster, owner kube.Owner, name string) (bool, error) {
	object := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: k.Namespace}}
	there, err := k.Of(owner).Exists(ctx, object)
	if err != nil {
		return false, fmt.Errorf("finding Ray cluster %q: %w", name, err)
	}
	return there, nil
}

// Delete deletes a RayCluster that is the owner's, waits until its pods are
// gone, and tells waiting, if not nil, what holds it back. One that is gone is
// fine.
func Delete(ctx context.Context, k *kube.Cluster, owner kube.Owner, name string, waiting func(string)) error {
	object := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: k.Namespace}}
	if err := k.Of(owner).Delete(ctx, goneTimeout, waiting, object); err != nil {
		return fmt.Errorf("ending Ray cluster %q: %w", name, err)
	}
	return nil
}
