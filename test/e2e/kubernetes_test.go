package e2e

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/test/charts"
	"github.com/trainyard/trainyard/test/kubetest"
)

// TestKubernetes runs the scripts in testdata/kubernetes against the control
// plane of test/cluster, its KubeRay operator, and pods on nodes that kwok
// plays. What would be Ray in the head's pod is the Ray of test/withray, to which
// the pod's port leads.
//
//	go run -C test/cluster . -- go run ./test/withray -- go test ./test/e2e -run TestKubernetes -v
func TestKubernetes(t *testing.T) {
	ray, token := os.Getenv("TRAINYARD_TEST_RAY_ADDRESS"), os.Getenv("TRAINYARD_TEST_RAY_TOKEN")
	if ray == "" {
		t.Skip("SKIPPED: needs a Kubernetes and a Ray: make test-cluster")
	}
	s := newSurroundings(t)
	s.state = t.TempDir()
	fakeNodes(kubetest.New(t))
	folder := charts.Folder(t)
	runScripts(t, "kubernetes", func(t *testing.T, env *testscript.Env) error {
		lab := kubetest.New(t)
		lab.Empty()
		t.Cleanup(func() { restore(lab) })
		t.Cleanup(func() { stopJobs(t, ray, token) })
		leadToRay(lab, ray, token)
		if err := seesKubernetes(env, lab, fakeRunFile); err != nil {
			return err
		}
		env.Setenv("CHARTS", folder)
		return s.setup(env)
	})
}

// restore undoes what a script that failed midway has left for the next one.
func restore(lab *kubetest.Lab) {
	lab.Control("/start/apiserver")
	lab.Control("/start/operator")
	ctx := context.WithoutCancel(lab.Context())
	system := client.InNamespace(metav1.NamespaceSystem)
	lab.Must(lab.DeleteAllOf(ctx, &appsv1.DaemonSet{}, system))
	lab.Must(lab.DeleteAllOf(ctx, &appsv1.Deployment{}, system))
	for _, name := range []string{"addons-gpu-0", "addons-gpu-1"} {
		lab.Must(client.IgnoreNotFound(lab.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	}
}

// stopJobs ends what a script has left running on the Ray that all of them use: a
// RayCluster with a job is not deleted.
func stopJobs(t *testing.T, address, token string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	ray, err := rayjob.New(address, token, rayjob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := ray.Jobs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		if job.SubmissionID == "" || job.Status.Terminal() {
			continue
		}
		if err := ray.Stop(ctx, job.SubmissionID); err != nil {
			t.Error(err)
		}
		if _, err := ray.WaitForEnd(ctx, job.SubmissionID, nil); err != nil {
			t.Error(err)
		}
	}
}

// seesKubernetes lets a script use a lab: by KUBECONFIG, with its namespace in NS
// and in a run file, where NAMESPACE stands for it, and test/cluster's interface
// at CONTROL.
func seesKubernetes(env *testscript.Env, lab *kubetest.Lab, runFile string) error {
	env.Setenv("KUBECONFIG", lab.Kubeconfig)
	env.Setenv("NS", lab.Namespace)
	env.Setenv("CONTROL", os.Getenv("TRAINYARD_TEST_CONTROL"))
	content := strings.ReplaceAll(runFile, "NAMESPACE", lab.Namespace)
	return os.WriteFile(filepath.Join(env.WorkDir, "trainyard.yaml"), []byte(content), 0o600)
}

// fakeRunFile fits fakeNodes and leadToRay.
const fakeRunFile = `version: 1
target: kubernetes
cluster: {name: ray, nodeType: "", gpusPerNode: 1}
kubernetes:
  namespace: NAMESPACE
  workerCPU: "1"
  workerMemory: 1Gi
  patches:
    - spec: {authOptions: {mode: token, secretName: ray-token}}
`

// fakeNodes makes one node for heads and two for workers.
func fakeNodes(lab *kubetest.Lab) {
	node := func(name, cpu, memory string, labels map[string]string) corev1.Node {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		n.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourcePods: resource.MustParse("110"),
		}
		return n
	}
	lab.Nodes(node("e2e-system", "3920m", "14Gi", map[string]string{"role": "system"}), 0)
	for _, name := range []string{"e2e-gpu-a", "e2e-gpu-b"} {
		gpu := node(name, "47", "180Gi", map[string]string{
			"role": "gpu-worker", "nvidia.com/gpu.present": "true", corev1.LabelTopologyZone: "us-east-1a",
		})
		gpu.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("1")
		lab.Nodes(gpu, 0)
	}
}

// leadToRay lets the port of every head in the lab's namespace lead to a Ray that
// takes a token, and puts the token where the run file says.
func leadToRay(lab *kubetest.Lab, ray, token string) {
	address, err := url.Parse(ray)
	lab.Must(err)
	port, err := strconv.ParseInt(address.Port(), 10, 64)
	lab.Must(err)
	forward := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "ClusterPortForward",
		"metadata": map[string]any{"name": lab.Namespace},
		"spec": map[string]any{
			"selector": map[string]any{"matchNamespaces": []any{lab.Namespace}},
			"forwards": []any{map[string]any{
				"ports":  []any{int64(8265)},
				"target": map[string]any{"address": address.Hostname(), "port": port},
			}},
		},
	}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ray-token", Namespace: lab.Namespace}}
	secret.StringData = map[string]string{"auth_token": token}
	lab.Make(forward, secret)
}
