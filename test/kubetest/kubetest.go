// Package kubetest gives a test a place of its own in the real Kubernetes that
// test/cluster runs tests beside:
//
//	go run -C test/cluster . -- go test ./internal/kube
//
// It knows nothing of the program, so that all of the program's packages can use
// it in their tests.
package kubetest

import (
	"context"
	"os"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patience is how long a test waits for what takes seconds on a quiet machine.
const Patience = 2 * time.Minute

// A Lab is a namespace of a test's own, gone with the test, in a cluster that
// the tests of a run share. Its client is the administrator's.
type Lab struct {
	testing.TB
	client.Client

	Kubeconfig string // file, the administrator's
	Namespace  string

	control string // URL of the interface that test/cluster/control describes
}

// New makes a namespace in which pods can run. Without a cluster the test is
// skipped; test/noskip makes that a failure.
func New(t testing.TB) *Lab {
	t.Helper()
	l := &Lab{TB: t, Kubeconfig: os.Getenv("TRAINYARD_TEST_KUBECONFIG"), control: os.Getenv("TRAINYARD_TEST_CONTROL")}
	if l.Kubeconfig == "" || l.control == "" {
		t.Skip("SKIPPED: needs a Kubernetes: go run -C test/cluster . -- go test ...; make test-cluster")
	}
	l.Client = l.connect()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	l.Make(namespace)
	l.Namespace = namespace.Name
	l.Until("service account for pods", func() bool {
		return l.Get(t.Context(), l.Key("default"), &corev1.ServiceAccount{}) == nil
	})
	return l
}

func (l *Lab) connect() client.Client {
	l.Helper()
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, rayv1.AddToScheme, apiextensionsv1.AddToScheme} {
		l.Must(add(types))
	}
	config, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	l.Must(err)
	config.QPS = -1 // the server paces its clients
	c, err := client.New(config, client.Options{Scheme: types})
	l.Must(err)
	return c
}

// Must ends the test where there is an error.
func (l *Lab) Must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// Key is what an object of this name in the test's namespace is found by.
func (l *Lab) Key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: l.Namespace, Name: name}
}

// Make makes objects, as somebody who is not trainyard. They are gone at the end
// of the test, the last one first.
func (l *Lab) Make(objects ...client.Object) {
	l.Helper()
	for _, object := range objects {
		l.Must(l.Create(l.Context(), object, client.FieldOwner("somebody")))
		l.Cleanup(func() {
			err := l.Delete(l.after(), object, client.GracePeriodSeconds(0))
			if err != nil && !apierrors.IsNotFound(err) {
				l.Error(err)
			}
		})
	}
}

// Nodes makes fake nodes of a template, gone at the end of the test: one of its
// name where count is 0, else as many, with a number behind it. Their label test is
// the test's namespace, which is also their name where the template has none;
// pods that select it have the nodes for themselves.
func (l *Lab) Nodes(template corev1.Node, count int) {
	l.Helper()
	node := template.DeepCopy()
	if node.Name == "" {
		node.Name = l.Namespace
	}
	metav1.SetMetaDataLabel(&node.ObjectMeta, "test", l.Namespace)
	l.Cleanup(func() {
		l.Must(l.DeleteAllOf(l.after(), &corev1.Node{}, client.MatchingLabels{"test": l.Namespace}))
	})
	l.addNodes(node, count)
}

// Empty deletes the Ray clusters in the namespace, whosever they are, and its pods
// at the end of the test, and waits for that: the next test may want their nodes.
// The namespace itself goes when the cluster comes to it.
func (l *Lab) Empty() {
	l.Helper()
	l.Cleanup(func() {
		ctx := l.after()
		l.Must(l.DeleteAllOf(ctx, &rayv1.RayCluster{}, client.InNamespace(l.Namespace)))
		l.await(ctx, "namespace without pods", func() bool {
			var pods corev1.PodList
			var clusters rayv1.RayClusterList
			l.Must(l.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(l.Namespace), client.GracePeriodSeconds(0)))
			l.Must(l.List(ctx, &pods, client.InNamespace(l.Namespace)))
			l.Must(l.List(ctx, &clusters, client.InNamespace(l.Namespace)))
			return len(pods.Items)+len(clusters.Items) == 0
		})
	})
}

// Until waits for what the cluster does by itself.
func (l *Lab) Until(what string, done func() bool) {
	l.Helper()
	l.await(l.Context(), what, done)
}

func (l *Lab) await(ctx context.Context, what string, done func() bool) {
	l.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			l.Fatalf("no %s within %s", what, Patience)
		case <-ctx.Done():
			l.Fatal(ctx.Err())
		}
	}
}

// after is the context of what tidies up, which outlives the test's.
func (l *Lab) after() context.Context { return context.WithoutCancel(l.Context()) }
