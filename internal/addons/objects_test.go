package addons_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/trainyard/trainyard/internal/addons"
	"github.com/trainyard/trainyard/test/charts"
)

// nodes are those of a cluster with GPUs, some with EFA.
var nodes = addons.Nodes{GPUTypes: []string{"g6.12xlarge", "g6.xlarge", "p6-b300.48xlarge"}, EFATypes: []string{"g6.12xlarge", "p6-b300.48xlarge"}}

// set returns what an add-on is made of.
func set(t *testing.T, order addons.Order) addons.Set {
	t.Helper()
	objects, err := addons.Objects(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// podOf returns the pod template of the workload with this name.
func podOf(t *testing.T, objects addons.Set, kind, name string) corev1.PodTemplateSpec {
	t.Helper()
	for _, o := range objects {
		if o.GetName() != name || o.GetObjectKind().GroupVersionKind().Kind != kind {
			continue
		}
		if o.GetNamespace() != addons.Namespace {
			t.Errorf("%s is in namespace %q", name, o.GetNamespace())
		}
		content, _, _ := unstructured.NestedMap(o.(*unstructured.Unstructured).Object, "spec", "template")
		var pod corev1.PodTemplateSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &pod); err != nil {
			t.Fatal(err)
		}
		return pod
	}
	t.Fatalf("no %s %s", kind, name)
	return corev1.PodTemplateSpec{}
}

// labels makes a node's labels of its type and others.
func labels(instanceType string, more ...string) map[string]string {
	all := map[string]string{}
	if instanceType != "" {
		all[corev1.LabelInstanceTypeStable] = instanceType
	}
	for _, label := range more {
		name, value, _ := strings.Cut(label, "=")
		all[name] = value
	}
	return all
}

func goesTo(t *testing.T, pod corev1.PodTemplateSpec, labels map[string]string) bool {
	t.Helper()
	matches, err := nodeaffinity.NewRequiredNodeAffinity(nil, pod.Spec.Affinity).Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}})
	if err != nil {
		t.Fatal(err)
	}
	return matches
}

func TestWhereAddonsGo(t *testing.T) {
	folder := addons.Source(charts.Folder(t))
	nvidia := podOf(t, set(t, addons.Order{Addon: addons.NVIDIA, Charts: folder, Nodes: nodes}), "DaemonSet", "nvidia-device-plugin")
	efa := podOf(t, set(t, addons.Order{Addon: addons.EFA, Charts: folder, Nodes: nodes}), "DaemonSet", "aws-efa-k8s-device-plugin")
	kubeRay := podOf(t, set(t, addons.Order{Addon: addons.KubeRay, Charts: folder, Nodes: nodes}), "Deployment", "kuberay-operator")
	for _, test := range []struct {
		name                 string
		labels               map[string]string
		nvidia, efa, kubeRay bool
	}{
		{"for the system", labels("m7i.xlarge", "role=system"), false, false, true},
		{"nothing known", nil, false, false, true},
		{"GPUs and EFA, not labelled", labels("g6.12xlarge"), true, true, false},
		{"GPUs and EFA, new", labels("p6-b300.48xlarge"), true, true, false},
		{"GPUs, no EFA", labels("g6.xlarge"), true, false, false},
		{"labelled", labels("", "nvidia.com/gpu.present=true"), true, false, false},
		{"labelled by Node Feature Discovery", labels("", "feature.node.kubernetes.io/pci-10de.present=true"), true, false, false},
		{"EFA, labelled", labels("c5n.18xlarge", "vpc.amazonaws.com/efa.present=true"), false, true, true},
		{"run by EKS", labels("g6.12xlarge", "eks.amazonaws.com/compute-type=auto"), false, false, false},
		{"HyperPod's", labels("g6.12xlarge", "eks.amazonaws.com/compute-type=hyperpod"), true, true, false},
	} {
		for name, pod := range map[string]struct {
			template corev1.PodTemplateSpec
			want     bool
		}{"nvidia": {nvidia, test.nvidia}, "efa": {efa, test.efa}, "kuberay": {kubeRay, test.kubeRay}} {
			if got := goesTo(t, pod.template, test.labels); got != pod.want {
				t.Errorf("%s: %s goes there: %t, want %t", test.name, name, got, pod.want)
			}
		}
	}
	for _, pod := range []corev1.PodTemplateSpec{nvidia, efa} {
		if !slices.Equal(pod.Spec.Tolerations, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}) {
			t.Errorf("tolerations %v, want all", pod.Spec.Tolerations)
		}
	}
	prefer := kubeRay.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	if len(prefer) != 1 || prefer[0].Preference.MatchExpressions[0].Key != "role" {
		t.Errorf("the operator prefers %v, want nodes for the system", prefer)
	}
	everywhere := nodes
	everywhere.AllGPU = true
	kubeRay = podOf(t, set(t, addons.Order{Addon: addons.KubeRay, Charts: folder, Nodes: everywhere}), "Deployment", "kuberay-operator")
	if !goesTo(t, kubeRay, labels("g6.12xlarge")) {
		t.Error("where all nodes have GPUs the operator goes nowhere")
	}
}

func TestImagesAndLabels(t *testing.T) {
	folder := addons.Source(charts.Folder(t))
	for _, test := range []struct {
		addon      addons.Name
		kind, name string
		image      string
		mirrored   string
	}{
		{addons.NVIDIA, "DaemonSet", "nvidia-device-plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.19.3", "mirror.example.com/x/nvidia/k8s-device-plugin:v0.19.3"},
		{addons.EFA, "DaemonSet", "aws-efa-k8s-device-plugin", "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20", "mirror.example.com/x/eks/aws-efa-k8s-device-plugin:v0.5.20"},
		{addons.KubeRay, "Deployment", "kuberay-operator", "quay.io/kuberay/operator:v1.6.2", "mirror.example.com/x/kuberay/operator:v1.6.2"},
	} {
		plain := set(t, addons.Order{Addon: test.addon, Charts: folder, Nodes: nodes})
		pod := podOf(t, plain, test.kind, test.name)
		if got := pod.Spec.Containers[0].Image; got != test.image {
			t.Errorf("image %q, want %q", got, test.image)
		}
		if pod.Labels[addons.Label] != string(test.addon) {
			t.Errorf("pods of %s have labels %v", test.addon, pod.Labels)
		}
		for _, o := range plain {
			if o.GetLabels()[addons.Label] != string(test.addon) {
				t.Errorf("%s %s has labels %v", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), o.GetLabels())
			}
		}
		pod = podOf(t, set(t, addons.Order{Addon: test.addon, Charts: folder, Nodes: nodes, Registry: "mirror.example.com/x/"}), test.kind, test.name)
		if got := pod.Spec.Containers[0].Image; got != test.mirrored {
			t.Errorf("image %q, want %q", got, test.mirrored)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := addons.Parse([]string{"kuberay", "nvidia", "kuberay"})
	if want := []addons.Name{addons.NVIDIA, addons.KubeRay}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	_, err = addons.Parse([]string{"efa", "nvida", "x"})
	if err == nil || !strings.Contains(err.Error(), `"nvida" (did you mean nvidia?)`) || !strings.Contains(err.Error(), `unknown add-on "x"; there are nvidia, efa, kuberay`) {
		t.Errorf("error %v", err)
	}
}

func TestVersionsInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range addons.Names() {
		row := regexp.MustCompile(`(?m)^\| .` + string(name) + `. \| [^|]*\b` + regexp.QuoteMeta(name.Version()) + `\b`)
		if !row.Match(page) {
			t.Errorf("docs/kubernetes.md does not say that %s is %s", name, name.Version())
		}
	}
}
