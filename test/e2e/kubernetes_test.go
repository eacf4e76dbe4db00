package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
)

// TestKubernetes runs the scripts in testdata/kubernetes against the control
// plane of test/cluster, its KubeRay operator, and pods on nodes that kwok
// plays. What would be Ray in the head's pod is the Ray of test/withray, to which
// the pod's port leads.
//
//	go run -C test/cluster . -- go run ./test/withray -- go test ./test/e2e -run TestKubernetes -v
func TestKubernetes(t *testing.T) {
	kubeconfig, control := os.Getenv("TRAINYARD_TEST_KUBECONFIG"), os.Getenv("TRAINYARD_TEST_CONTROL")
	ray := os.Getenv("TRAINYARD_TEST_RAY_ADDRESS")
	if kubeconfig == "" || ray == "" {
		t.Skip("needs a Kubernetes and a Ray: go run -C test/cluster . -- go run ./test/withray -- go test ./test/e2e")
	}
	trainyard, err := exec.LookPath("trainyard")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	s := surroundings{cache: cache, bin: filepath.Dir(trainyard), root: root(t), state: t.TempDir()}
	k, err := kube.Connect(kube.Access{Kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	lab := kubernetesLab{Cluster: k, control: control, ray: ray}
	lab.nodes(t)
	testscript.RunT(inTurn{t}, testscript.Params{
		Dir: filepath.Join("testdata", "kubernetes"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("KUBECONFIG", kubeconfig)
			env.Setenv("CONTROL", control)
			return errors.Join(s.setup(env), lab.namespace(env))
		},
		Cmds:                commands(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// kubernetesLab is what the scripts find in Kubernetes.
type kubernetesLab struct {
	*kube.Cluster
	control string // URL of test/cluster's control interface
	ray     string // URL of the dashboard that heads' ports lead to
}

// nodes makes one node for heads and two for workers, gone with the test.
func (l kubernetesLab) nodes(t *testing.T) {
	t.Helper()
	for _, node := range []string{
		`{"metadata": {"name": "e2e-system", "labels": {"e2e": "1", "role": "system"}},
			"status": {"allocatable": {"cpu": "3920m", "memory": "14Gi", "pods": "110"}}}`,
		`{"metadata": {"name": "e2e-gpu-a", "labels": {"e2e": "1", "role": "gpu-worker", "nvidia.com/gpu.present": "true", "topology.kubernetes.io/zone": "us-east-1a"}},
			"status": {"allocatable": {"cpu": "47", "memory": "180Gi", "pods": "110", "nvidia.com/gpu": "1"}}}`,
		`{"metadata": {"name": "e2e-gpu-b", "labels": {"e2e": "1", "role": "gpu-worker", "nvidia.com/gpu.present": "true", "topology.kubernetes.io/zone": "us-east-1a"}},
			"status": {"allocatable": {"cpu": "47", "memory": "180Gi", "pods": "110", "nvidia.com/gpu": "1"}}}`,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.control+"/nodes?count=1", bytes.NewReader([]byte(node)))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode >= http.StatusBadRequest {
			t.Fatalf("making a node: %s", response.Status)
		}
	}
	t.Cleanup(func() {
		if err := l.DeleteAllOf(context.Background(), &corev1.Node{}, client.MatchingLabels{"e2e": "1"}); err != nil {
			t.Error(err)
		}
	})
}

// namespace gives a script a namespace of its own, in which heads lead to the
// Ray of the test, and a run file that uses it.
func (l kubernetesLab) namespace(env *testscript.Env) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	name := fmt.Sprintf("e2e-%d", time.Now().UnixNano())
	env.Setenv("NS", name)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := l.Create(ctx, namespace); err != nil {
		return err
	}
	forward, err := l.portForward(name)
	if err != nil {
		return err
	}
	env.Defer(func() {
		if err := errors.Join(l.Delete(context.Background(), namespace), l.Delete(context.Background(), forward)); err != nil {
			env.T().Log(err)
		}
	})
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "ray-token", Namespace: name},
		StringData: map[string]string{"auth_token": os.Getenv("TRAINYARD_TEST_RAY_TOKEN")},
	}
	if err := errors.Join(l.Create(ctx, secret), l.Create(ctx, forward)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(env.WorkDir, "trainyard.yaml"), fmt.Appendf(nil, `version: 1
target: kubernetes
cluster: {name: ray, nodeType: "", gpusPerNode: 1}
kubernetes:
  namespace: %s
  workerCPU: "1"
  workerMemory: 1Gi
  patches:
    - spec: {authOptions: {mode: token, secretName: ray-token}}
`, name), 0o600)
}

func (l kubernetesLab) portForward(namespace string) (*unstructured.Unstructured, error) {
	address, err := url.Parse(l.ray)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(address.Port(), 10, 64)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "ClusterPortForward",
		"metadata": map[string]any{"name": namespace},
		"spec": map[string]any{
			"selector": map[string]any{"matchNamespaces": []any{namespace}},
			"forwards": []any{map[string]any{
				"ports":  []any{int64(8265)},
				"target": map[string]any{"address": address.Hostname(), "port": port},
			}},
		},
	}}, nil
}
