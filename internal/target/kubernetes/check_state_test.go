package kubernetes

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/kube"
)

// resources writes a list as a manifest would.
func resources(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func podOf(requests corev1.ResourceList) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests, Limits: requests}}}}
}

// gpuNode is a g6.12xlarge as it should be.
func gpuNode(name string) corev1.Node {
	all := resources("cpu", "47", "memory", "180Gi", "nvidia.com/gpu", "4", "vpc.amazonaws.com/efa", "1", "pods", "110")
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelInstanceTypeStable: "g6.12xlarge", corev1.LabelTopologyZone: "us-east-1a", "role": "gpu-worker",
			"nvidia.com/gpu.present": "true", "nvidia.com/cuda.driver-version.full": "580.95.05",
		}},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: "nvidia.com/gpu", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: all, Allocatable: all.DeepCopy(), Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

func systemNode() corev1.Node {
	n := gpuNode("system")
	n.Labels = map[string]string{corev1.LabelInstanceTypeStable: "m7i.xlarge"}
	n.Spec.Taints = nil
	n.Status.Allocatable = resources("cpu", "3920m", "memory", "14.5Gi", "pods", "58")
	n.Status.Capacity = n.Status.Allocatable.DeepCopy()
	return n
}

// goodNeed asks for two workers of whole nodes.
func goodNeed(t testing.TB) Need {
	t.Helper()
	nodeType, err := instancetype.Lookup("g6.12xlarge")
	if err != nil {
		t.Fatal(err)
	}
	n := Need{
		Cluster: "mine", Labels: kube.Owner{Cluster: "mine", User: "ada"}.Labels(), Nodes: 2, Type: nodeType, OneZone: true, CUDA: "13.0.2",
		Worker: podOf(resources("cpu", "40", "memory", "160Gi", "nvidia.com/gpu", "4", "vpc.amazonaws.com/efa", "1")),
		Head:   podOf(resources("cpu", "2", "memory", "8Gi")),
		Claims: []string{"data"}, Secrets: []string{"wandb"}, Queue: "team",
	}
	n.Worker.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: "g6.12xlarge"}
	n.Worker.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
	return n
}

// plugin is NVIDIA's as its chart places it.
func plugin() Workload {
	w := Workload{Role: GPUPlugin, Kind: "DaemonSet", Namespace: "kube-system", Name: "nvidia", Image: "nvcr.io/nvidia/k8s-device-plugin:v0.17.4", Wanted: 2, Ready: 2}
	w.Pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "feature.node.kubernetes.io/pci-10de.present", Operator: corev1.NodeSelectorOpIn, Values: []string{"true"}}}},
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "nvidia.com/gpu.present", Operator: corev1.NodeSelectorOpIn, Values: []string{"true"}}}},
		},
	}}}
	w.Pod.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
	return w
}

func efaPlugin() Workload {
	w := Workload{Role: EFAPlugin, Kind: "DaemonSet", Namespace: "kube-system", Name: "efa", Image: "public.ecr.aws/eks/aws-efa-k8s-device-plugin:v0.5.13", Wanted: 2, Ready: 2}
	w.Pod.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return w
}

// goodState is a cluster in which nothing is wrong.
func goodState() State {
	s := State{Context: "test", Namespace: "ray-train"}
	s.Version.Value = version.Info{GitVersion: "v1.36.3-eks-1234"}
	s.Groups.Value = map[string][]string{"ray.io": {"v1", "v1alpha1"}, "resource.k8s.io": {"v1"}, kueueGroup: {"v1beta1"}}
	s.RayFields.Value = []string{"authOptions", "headGroupSpec"}
	s.Operators.Value = []Operator{{Workload: Workload{
		Role: kubeRay, Kind: "Deployment", Namespace: "kuberay", Name: "kuberay-operator", Image: "quay.io/kuberay/operator:v1.6.2", Wanted: 1, Ready: 1,
	}, Nodes: []string{"system"}}}
	s.DaemonSets.Value = []Workload{plugin(), efaPlugin()}
	s.Nodes.Value = []corev1.Node{systemNode(), gpuNode("gpu-0"), gpuNode("gpu-1")}
	s.Use.Value = map[string]Use{"gpu-0": {All: resources("cpu", "1", "pods", "5"), Lasting: resources("cpu", "1", "pods", "5")}}
	for _, w := range wanted {
		for verb := range strings.FieldsSeq(w.verbs) {
			p := Permission{Purpose: w.purpose, Verb: verb, Group: w.group, Resource: w.resource, Namespace: "ray-train", Allowed: true}
			if w.wide {
				p.Namespace = ""
			}
			s.Permissions = append(s.Permissions, p)
		}
	}
	s.Existing.Err = notFound("rayclusters", "mine")
	s.Place.Value.Name = "ray-train"
	s.Account.Value = &corev1.ServiceAccount{}
	s.Secrets = map[string]error{"wandb": nil}
	claim := corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	s.Claims = map[string]Part[corev1.PersistentVolumeClaim]{"data": {Value: claim}}
	s.Queue.Value = true
	return s
}

func notFound(kind, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
}

func denied(kind string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", errors.New(`User "guest" cannot list resource`))
}

func quota(hard, used corev1.ResourceList) corev1.ResourceQuota {
	return corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Status: corev1.ResourceQuotaStatus{Hard: hard, Used: used}}
}

func claimIs(s *State, change func(*Part[corev1.PersistentVolumeClaim])) {
	claim := s.Claims["data"]
	change(&claim)
	s.Claims["data"] = claim
}

// third adds a node that is not needed.
func third(s *State) *corev1.Node {
	s.Nodes.Value = append(s.Nodes.Value, gpuNode("gpu-2"))
	return &s.Nodes.Value[3]
}

func other(name, nodeType string) corev1.Node {
	n := gpuNode(name)
	n.Labels[corev1.LabelInstanceTypeStable] = nodeType
	return n
}

// lose takes devices off all nodes with GPUs.
func lose(s *State, name corev1.ResourceName, left string) {
	for i := range s.Nodes.Value[1:] {
		n := &s.Nodes.Value[i+1]
		n.Status.Allocatable[name], n.Status.Capacity[name] = resource.MustParse(left), resource.MustParse(left)
	}
}

func loseGPUs(s *State, left int) { lose(s, gpuResource, string(rune('0'+left))) }
func loseEFA(s *State)            { lose(s, efaResource, "0") }

func driver(s *State, full string) {
	for i := range s.Nodes.Value[1:] {
		s.Nodes.Value[i+1].Labels["nvidia.com/cuda.driver-version.full"] = full
	}
}

// retype makes all nodes with GPUs, and the need, of another type.
func retype(s *State, n *Need, name string, gpus int64) {
	n.Type, _ = instancetype.Lookup(name)
	n.Worker.NodeSelector[corev1.LabelInstanceTypeStable] = name
	n.Worker.Containers[0].Resources.Requests[gpuResource] = *resource.NewQuantity(gpus, resource.DecimalSI)
	for i := range s.Nodes.Value[1:] {
		node := &s.Nodes.Value[i+1]
		node.Labels[corev1.LabelInstanceTypeStable] = name
		node.Status.Allocatable[gpuResource], node.Status.Capacity[gpuResource] = *resource.NewQuantity(gpus, resource.DecimalSI), *resource.NewQuantity(gpus, resource.DecimalSI)
	}
}
