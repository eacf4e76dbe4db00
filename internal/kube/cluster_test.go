package kube

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/kubetest"
)

// newCluster connects as the administrator, to a namespace of the test's own in
// the Kubernetes of test/cluster.
func newCluster(t *testing.T) *Cluster {
	t.Helper()
	return connect(t, kubetest.New(t))
}

// connect connects as the administrator, to the lab's namespace.
func connect(t *testing.T, lab *kubetest.Lab) *Cluster {
	t.Helper()
	return connectBy(t, lab, lab.Kubeconfig)
}

// connectBy connects as whom a kubeconfig says, to the lab's namespace.
func connectBy(t *testing.T, lab *kubetest.Lab, kubeconfig string) *Cluster {
	t.Helper()
	c, err := Connect(Access{Kubeconfig: kubeconfig, Namespace: lab.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// offering is a node that has these extended resources.
func offering(resource corev1.ResourceName, quantity string) corev1.Node {
	node := corev1.Node{}
	node.Status.Allocatable = corev1.ResourceList{resource: apiresource.MustParse(quantity)}
	return node
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
