package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// These tests need a Kubernetes, with kwok for kubelets:
//
//	go run -C test/cluster . -- go test ./internal/kube
const (
	kubeconfigEnv = "TRAINYARD_TEST_KUBECONFIG"
	controlEnv    = "TRAINYARD_TEST_CONTROL" // described in test/cluster/control
)

// newCluster connects as the administrator, to a namespace of the test's own.
func newCluster(t *testing.T) *Cluster {
	t.Helper()
	path := os.Getenv(kubeconfigEnv)
	if path == "" {
		t.Skipf("needs a running Kubernetes: %s is not set", kubeconfigEnv)
	}
	c, err := Connect(Access{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "kube-test-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	c.Namespace = namespace.Name
	t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), namespace) })
	return c
}

// connectAs returns the cluster as someone else reaches it; notAfter may be
// zero.
func connectAs(t *testing.T, c *Cluster, name string, notAfter time.Time) *Cluster {
	t.Helper()
	body, err := json.Marshal(map[string]any{"Name": name, "Namespace": c.Namespace, "NotAfter": notAfter})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, control(t, "/users", body), 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := Connect(Access{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// control posts to the interface of test/cluster and returns the answer.
func control(t *testing.T, path string, body []byte) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, os.Getenv(controlEnv)+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 400 {
		t.Fatalf("%s: %s %s %v", path, response.Status, answer, err)
	}
	return answer
}

// addNode makes a fake node, gone with the test, with these extended resources,
// on which only pods run that select the label test=<its name>.
func addNode(t *testing.T, c *Cluster, extended corev1.ResourceList) string {
	t.Helper()
	name := c.Namespace
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"test": name}}}
	node.Status.Allocatable = extended
	body, err := json.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	control(t, "/nodes", body)
	t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), &node) })
	return name
}

// newPod returns a pod that runs on the test's own node.
func newPod(c *Cluster, name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace, Labels: labels},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"test": c.Namespace},
			Containers:   []corev1.Container{{Name: "main", Image: "none"}},
			Tolerations:  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
}

// newSettings returns a ConfigMap, the simplest object there is.
func newSettings(c *Cluster, name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace},
		Data:       map[string]string{"value": value},
	}
}

// create makes an object as somebody else would.
func create(t *testing.T, c *Cluster, obj client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), obj, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
}

// mustObject returns an object as it is applied.
func mustObject(t *testing.T, c *Cluster, obj client.Object) *unstructured.Unstructured {
	t.Helper()
	u, err := c.Object(obj, me)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// objectMeta tells the i-th object of a test from others.
func objectMeta(i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}
}
