package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/kube"
)

// lab is a namespace of its own in the real control plane of test/cluster.
type lab struct {
	*testing.T
	admin     *kube.Cluster
	control   string
	namespace string
}

func newLab(t *testing.T) lab {
	t.Helper()
	kubeconfig, control := os.Getenv("TRAINYARD_TEST_KUBECONFIG"), os.Getenv("TRAINYARD_TEST_CONTROL")
	if kubeconfig == "" || control == "" {
		t.Skip("SKIPPED: needs a real Kubernetes: go run -C test/cluster . -- go test ./internal/target/kubernetes")
	}
	l := lab{T: t, control: control}
	l.namespace = fmt.Sprintf("check-%d-%s", os.Getpid(), strings.ToLower(strings.ReplaceAll(t.Name(), "_", "-")))
	l.admin = l.connect(kubeconfig)
	l.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}})
	l.until("the service account", func() bool {
		return l.admin.Get(t.Context(), l.named("default"), &corev1.ServiceAccount{}) == nil
	})
	return l
}

func (l lab) connect(kubeconfig string) *kube.Cluster {
	l.Helper()
	cluster, err := kube.Connect(kube.Access{Kubeconfig: kubeconfig, Namespace: l.namespace})
	l.must(err)
	return cluster
}

func (l lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l lab) named(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: l.namespace, Name: name}
}

// create makes an object that is gone again at the end of the test.
func (l lab) create(object client.Object) {
	l.Helper()
	l.must(l.admin.Create(l.Context(), object))
	l.Cleanup(func() {
		err := l.admin.Delete(context.Background(), object, client.GracePeriodSeconds(0))
		if err != nil && !apierrors.IsNotFound(err) {
			l.Error(err)
		}
	})
}

// until waits for what the cluster does by itself.
func (l lab) until(what string, done func() bool) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(50 * time.Millisecond); !done(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			l.Fatalf("no %s after a minute", what)
		}
	}
}

func (l lab) post(path string, body any) []byte {
	l.Helper()
	data, err := json.Marshal(body)
	l.must(err)
	response, err := http.Post(l.control+path, "application/json", bytes.NewReader(data)) //nolint:gosec // the lab's own address
	l.must(err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	l.must(err)
	if response.StatusCode >= http.StatusBadRequest {
		l.Fatalf("%s: %s", path, answer)
	}
	return answer
}

// nodes makes fake nodes from a template, which are gone at the end of the test.
// Their type is of this test alone, so that others' nodes are in nobody's way.
func (l lab) nodes(template corev1.Node, count int) {
	l.Helper()
	template.Labels["test"] = l.namespace
	l.post(fmt.Sprintf("/nodes?count=%d", count), template)
	l.Cleanup(func() {
		l.must(l.admin.DeleteAllOf(context.Background(), &corev1.Node{}, client.MatchingLabels{"test": l.namespace}))
	})
}

// user connects as somebody who may do what the rules say in the namespace.
func (l lab) user(name string, rules ...rbacv1.PolicyRule) *kube.Cluster {
	l.Helper()
	meta := metav1.ObjectMeta{Name: name, Namespace: l.namespace}
	l.create(&rbacv1.Role{ObjectMeta: meta, Rules: rules})
	l.create(&rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: l.namespace + "-" + name}},
	})
	file := filepath.Join(l.TempDir(), name)
	l.must(os.WriteFile(file, l.post("/users", map[string]string{"Name": l.namespace + "-" + name, "Namespace": l.namespace}), 0o600))
	return l.connect(file)
}

// need asks for nodes of this test, of the type g6.12xlarge.
func (l lab) need(nodes int) Need {
	n := goodNeed(l.T)
	n.Nodes, n.Claims, n.Secrets, n.Queue = nodes, nil, nil, ""
	n.Type = instancetype.Type{}
	n.Worker.NodeSelector["test"] = l.namespace
	return n
}

// check looks and judges; nodes of other tests are left out.
func (l lab) check(as *kube.Cluster, need Need) []Finding {
	l.Helper()
	state, err := Look(l.Context(), as, need)
	l.must(err)
	state.Nodes.Value = l.own(state.Nodes.Value)
	return Judge(state, need)
}

// own returns the nodes of this test.
func (l lab) own(nodes []corev1.Node) []corev1.Node {
	return slices.DeleteFunc(nodes, func(n corev1.Node) bool { return n.Labels["test"] != l.namespace })
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
		labels := map[string]string{"app": l.namespace + "-" + w.Name}
		pod := w.Pod
		pod.Containers = []corev1.Container{{Name: "plugin", Image: w.Image}}
		pod.NodeSelector = map[string]string{"test": l.namespace}
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: l.namespace}, Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		}}
		l.create(set)
		l.until("DaemonSet "+w.Name, func() bool {
			l.must(l.admin.Get(l.Context(), l.named(w.Name), set))
			return set.Status.ObservedGeneration > 0 && set.Status.NumberReady == set.Status.DesiredNumberScheduled
		})
	}
}
