package kubernetes

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/wait"
	"github.com/trainyard/trainyard/test/kubetest"
)

// lab is a namespace of its own in the real control plane of test/cluster.
type lab struct {
	*kubetest.Lab
	admin *kube.Cluster
}

func newLab(t *testing.T) lab {
	t.Helper()
	l := lab{Lab: kubetest.New(t)}
	l.admin = l.as(l.Kubeconfig)
	l.Empty()
	return l
}

// as connects as whom a kubeconfig says.
func (l lab) as(kubeconfig string) *kube.Cluster {
	l.Helper()
	cluster, err := kube.Connect(kube.Access{Kubeconfig: kubeconfig, Namespace: l.Namespace})
	l.Must(err)
	return cluster
}

// atLast waits, when the test has ended, until there is no error any more.
func (l lab) atLast(what string, look func(context.Context) error) {
	l.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.Context()), kubetest.Patience)
	defer cancel()
	for err := look(ctx); err != nil; err = look(ctx) {
		if wait.Sleep(ctx, 50*time.Millisecond) != nil {
			l.Errorf("no %s within %s: %v", what, kubetest.Patience, err)
			return
		}
	}
}

// need asks for nodes of this test, of the type g6.12xlarge.
func (l lab) need(nodes int) Need {
	n := goodNeed(l)
	n.Nodes, n.Claims, n.Secrets, n.Queue = nodes, nil, nil, ""
	n.Type = instancetype.Type{}
	n.Worker.NodeSelector["test"] = l.Namespace
	return n
}

// check looks and judges; nodes of other tests are left out.
func (l lab) check(as *kube.Cluster, need Need) []Finding {
	l.Helper()
	state, err := Look(l.Context(), as, need)
	l.Must(err)
	state.Nodes.Value = l.own(state.Nodes.Value)
	return Judge(state, need)
}

// own returns the nodes of this test.
func (l lab) own(nodes []corev1.Node) []corev1.Node {
	return slices.DeleteFunc(nodes, func(n corev1.Node) bool { return n.Labels["test"] != l.Namespace })
}

// find returns the findings of a check that are not as they should be.
func find(findings []Finding, check string) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.Check != check || f.Level == OK })
}

func (l lab) want(findings []Finding, check string, level Level, what string) {
	l.Helper()
	for _, f := range find(findings, check) {
		if f.Level == level && strings.Contains(f.What, what) {
			return
		}
	}
	l.Errorf("no %s of %q with %q among %+v", level, check, what, findings)
}

// freshNode is a node as a test makes it: no taint, so that kwok's nodes take
// any pod.
func freshNode(name string) corev1.Node {
	n := gpuNode(name)
	n.Spec.Taints = nil
	n.Status.Conditions = nil
	return n
}

// install makes DaemonSets as their charts would, and waits for their pods.
func (l lab) install(workloads ...Workload) {
	l.Helper()
	for _, w := range workloads {
		labels := map[string]string{"app": l.Namespace + "-" + w.Name}
		pod := w.Pod
		pod.Containers = []corev1.Container{{Name: "plugin", Image: w.Image}}
		pod.NodeSelector = map[string]string{"test": l.Namespace}
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: l.Namespace}, Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		}}
		l.Make(set)
		l.Until("DaemonSet "+w.Name, func() bool {
			l.Must(l.admin.Get(l.Context(), l.Key(w.Name), set))
			return set.Status.ObservedGeneration > 0 && set.Status.NumberReady == set.Status.DesiredNumberScheduled
		})
	}
}
