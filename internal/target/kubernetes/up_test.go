package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/target"
)

// me owns what the tests bring up.
var me = kube.Owner{Cluster: "gpu", User: "alice"}

// rayCluster has a head and one worker with a GPU, for nodes of this test.
func (l lab) rayCluster() *rayv1.RayCluster {
	pod := func(container string, resources corev1.ResourceList) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: me.Labels()}, Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"test": l.Namespace},
			Containers:   []corev1.Container{{Name: container, Image: "none", Resources: corev1.ResourceRequirements{Limits: resources, Requests: resources}}},
		}}
	}
	cluster := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: "gpu", Namespace: l.Namespace}}
	cluster.Spec = rayv1.RayClusterSpec{
		AuthOptions:   &rayv1.AuthOptions{Mode: rayv1.AuthModeToken},
		RayVersion:    "2.58.0",
		HeadGroupSpec: rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: pod("ray-head", resources("cpu", "1"))},
		WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{
			GroupName: "workers", Replicas: ptr.To[int32](1), MinReplicas: ptr.To[int32](1), MaxReplicas: ptr.To[int32](1),
			RayStartParams: map[string]string{}, Template: pod("ray-worker", resources("cpu", "2", string(gpuResource), "1")),
		}},
	}
	return cluster
}

// room makes a node for the head and the worker.
func (l lab) room() {
	l.Helper()
	l.Nodes(roomy(), 0)
}

func roomy() corev1.Node {
	node := corev1.Node{}
	node.Status.Allocatable = resources("cpu", "8", "memory", "16Gi", "pods", "10", string(gpuResource), "1")
	return node
}

// small makes a node that has room for no pod of ours, however empty, and returns
// it.
func (l lab) small() corev1.Node {
	l.Helper()
	node := roomy()
	node.Name = l.Namespace + "-small"
	node.Status.Allocatable = resources("cpu", "100m", "memory", "4Gi", "pods", "10")
	l.Nodes(node, 0)
	node.Labels = map[string]string{"test": l.Namespace}
	return node
}

// What no node has is waited for where the cluster makes nodes, before an
// autoscaler says a word, and nowhere else.
func TestWaitForAutoscaler(t *testing.T) {
	for _, mayGrow := range []bool{true, false} {
		t.Run(fmt.Sprint(mayGrow), func(t *testing.T) {
			l := newLab(t)
			small := l.small()
			up := l.raise(l.admin, func(o *Order) { o.Nodes, o.MayGrow = []corev1.Node{small}, mayGrow })
			const lacking = "and no node that it may run on has more than 100m"
			if !mayGrow {
				up.ends(lacking, "")
				return
			}
			up.says(lacking)
			l.room()
			up.ends("", "")
		})
	}
}

// That waiting is in vain is said by the nodes of now, not by those of before.
func TestWaitByTheNodesOfNow(t *testing.T) {
	l := newLab(t)
	stale := roomy()
	stale.Labels = map[string]string{"test": l.Namespace}
	delete(stale.Status.Allocatable, gpuResource)
	l.room()
	taker := l.worker("taker")
	l.Make(taker)
	l.Until("place for the pod", func() bool {
		l.Must(l.Get(t.Context(), l.Key("taker"), taker))
		return taker.Spec.NodeName != ""
	})
	up := l.raise(l.admin, func(o *Order) { o.Nodes = []corev1.Node{stale} })
	up.says("head is ready, 0 of 1 workers are ready; pod gpu-")
	l.Must(l.Delete(t.Context(), taker, client.GracePeriodSeconds(0)))
	up.ends("", "")
}

// A wait that ends before anything was seen tells what was wanted.
func TestWaitThatIsTooShort(t *testing.T) {
	l := newLab(t)
	l.raise(l.admin, func(o *Order) { o.PendingTimeout = time.Nanosecond }).ends("0 of 1 workers are ready", "--pending-timeout")
}

// rising is a RayCluster whose pods are waited for.
type rising struct {
	lab
	ended chan error

	mu   sync.Mutex
	said string
}

// raise makes the RayCluster and waits for its pods in the background, by an order
// that changes, if there are any, have changed.
func (l lab) raise(as *kube.Cluster, changes ...func(*Order)) *rising {
	l.Helper()
	cluster := l.rayCluster()
	made, err := l.admin.Of(me).Apply(l.Context(), kube.Real, cluster)
	l.Must(err)
	r := &rising{lab: l, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(l.Context())
	order := Order{RayCluster: cluster, Owner: me, Progress: func(text string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said = text
	}}
	for _, change := range changes {
		change(&order)
	}
	go func() { r.ended <- awaitPods(ctx, as, order, made[0].GetUID()) }()
	l.Cleanup(func() {
		cancel()
		if err := <-r.ended; err != nil {
			l.Log(err) // which ends has judged, or nobody wants
		}
	})
	return r
}

// says waits until the one who waits is told so.
func (r *rising) says(part string) {
	r.Helper()
	said := ""
	r.Until("word of "+part, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		said = r.said
		return strings.Contains(said, part)
	})
	r.Log(said)
}

// ends waits for the end of the wait; "" wants no error.
func (r *rising) ends(part, hint string) {
	r.Helper()
	var err error
	r.Until("end of the wait", func() bool {
		select {
		case err = <-r.ended:
			r.ended <- err
			return true
		default:
			return false
		}
	})
	r.Logf("%v; hints %q", err, fault.HintsOf(err))
	switch {
	case part == "" && err != nil, part != "" && (err == nil || !strings.Contains(err.Error(), part)):
		r.Errorf("error %v, want %q", err, part)
	case !strings.Contains(strings.Join(fault.HintsOf(err), "; "), hint):
		r.Errorf("hints %q, want %q", fault.HintsOf(err), hint)
	}
}

func TestWaitOutlastsARestart(t *testing.T) {
	l := newLab(t)
	up := l.raise(l.admin)
	up.says("head is starting, 0 of 1 workers are ready; pod gpu-")
	l.Control("/stop/apiserver")
	up.says("cannot be reached: connection refused; waiting for it")
	l.Control("/start/apiserver")
	up.says("0 of 1 workers are ready; pod gpu-")
	l.room()
	up.ends("", "")
}

// Somebody deletes the RayCluster, and all of the namespace, while we wait.
func TestWaitForWhatIsDeleted(t *testing.T) {
	for name, object := range map[string]func(l lab) client.Object{
		"RayCluster": func(l lab) client.Object { return l.rayCluster() },
		"namespace": func(l lab) client.Object {
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			up := l.raise(l.admin)
			up.says("0 of 1 workers are ready; pod gpu-")
			l.Must(l.Delete(t.Context(), object(l)))
			up.ends(`RayCluster "gpu" in namespace "`+l.Namespace+`" was deleted`, "")
		})
	}
}

// The token is withdrawn while we wait, which shows when the connection is made
// anew.
func TestWaitWithoutCredentials(t *testing.T) {
	l := newLab(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot", Namespace: l.Namespace}}
	l.Make(account)
	up := l.raise(l.byToken(account, rules(ForTrain, ForWatch)))
	up.says("0 of 1 workers are ready; pod gpu-")
	l.Must(l.Delete(t.Context(), account))
	l.Control("/restart/apiserver")
	up.ends("does not accept the credentials of context", "log in again")
}

// A head that went before anybody looked is as lost as one that goes later.
func TestLostWithoutHead(t *testing.T) {
	l := newLab(t)
	cluster := &Cluster{kube: l.admin, name: "gpu"}
	if err := cluster.Lost(t.Context()); !errors.Is(err, target.ErrLost) || !strings.Contains(err.Error(), "RayCluster gpu was deleted") {
		t.Errorf("error %v, want that it is lost, and why", err)
	}
}
