package workflow

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/internal/addons"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/target/kubernetes"
)

// gpuNode is a node of a type with 4 GPUs and 1 EFA interface that offers so
// many.
func gpuNode(name, gpus, efa string) corev1.Node {
	offers := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus), "vpc.amazonaws.com/efa": resource.MustParse(efa)}
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelInstanceTypeStable: "g6.12xlarge"}},
		Status:     corev1.NodeStatus{Capacity: offers, Allocatable: offers},
	}
}

func downNode(name string) corev1.Node {
	n := gpuNode(name, "0", "0")
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	return n
}

func plugin(role kubernetes.Role, name, manager string) kubernetes.Workload {
	return kubernetes.Workload{
		Role: role, Kind: "DaemonSet", Namespace: "kube-system", Name: name, Image: "registry/" + name + ":v1", Manager: manager, Wanted: 2, Ready: 1,
	}
}

func TestStatusOfAddons(t *testing.T) {
	tests := []struct {
		name  string
		addon addons.Name
		state kubernetes.State
		want  AddonState
		says  string
	}{
		{"no nodes", addons.NVIDIA, kubernetes.State{}, AddonUnused, "no node has nvidia.com/gpu"},
		{"nodes without EFA", addons.EFA, withNodes(corev1.Node{}), AddonUnused, "no node has vpc.amazonaws.com/efa"},
		{"nothing offers", addons.NVIDIA, withNodes(gpuNode("a", "0", "0")), AddonMissing, "none is there"},
		{"some offer", addons.NVIDIA, withNodes(gpuNode("a", "4", "0"), gpuNode("b", "0", "0")), AddonMissing, "none is there"},
		{"all offer", addons.NVIDIA, withNodes(gpuNode("a", "4", "0")), AddonBuiltIn, "1 of 1 node offer nvidia.com/gpu, by something built into them"},
		{"all that are up offer", addons.EFA, withNodes(gpuNode("a", "4", "1"), downNode("b")), AddonBuiltIn, "1 of 1 node offer"},
		{"all are down", addons.EFA, withNodes(downNode("b")), AddonMissing, "none is there"},
		{"ours", addons.NVIDIA, withPlugins(plugin(kubernetes.GPUPlugin, "plugin", kube.Manager)), AddonInstalled, "installed daemonset kube-system/plugin v1, managed by trainyard"},
		{"somebody's", addons.EFA, withPlugins(plugin(kubernetes.EFAPlugin, "plugin", "Helm")), AddonFound, "found daemonset kube-system/plugin v1, managed by Helm"},
		{"another's", addons.EFA, withPlugins(plugin(kubernetes.GPUPlugin, "plugin", "")), AddonUnused, "no node"},
		{"a DRA driver", addons.NVIDIA, withDevices("gpu.nvidia.com"), AddonFound, "found DRA driver gpu.nvidia.com"},
		{"EFA's DRA driver", addons.EFA, withDevices("dra.net"), AddonFound, "found DRA driver dra.net"},
		{"the GPU Operator", addons.NVIDIA, withHelper(kubernetes.GPUOperator), AddonFound, "found deployment kube-system/gpu-operator v1"},
		{"plugins unread", addons.NVIDIA, kubernetes.State{DaemonSets: kubernetes.Part[[]kubernetes.Workload]{Err: errors.New("no")}}, AddonUnknown, "could not be read: no"},
		{"nodes unread", addons.EFA, kubernetes.State{Nodes: kubernetes.Part[[]corev1.Node]{Err: errors.New("no")}}, AddonUnknown, "could not be read: no"},
		{"operators unread", addons.KubeRay, kubernetes.State{Operators: kubernetes.Part[[]kubernetes.Operator]{Err: errors.New("no")}}, AddonUnknown, "could not be read: no"},
		{"no operator", addons.KubeRay, kubernetes.State{}, AddonMissing, "none is there"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := statusOf(test.state, []addons.Name{test.addon})[0]
			if s.State != test.want || !strings.Contains(s.What(), test.says) {
				t.Errorf("%s, %q; want %s, %q", s.State, s.What(), test.want, test.says)
			}
		})
	}
}

func withNodes(nodes ...corev1.Node) (s kubernetes.State) {
	s.Nodes.Value = nodes
	return s
}

func withPlugins(workloads ...kubernetes.Workload) (s kubernetes.State) {
	s.DaemonSets.Value = workloads
	return s
}

func withHelper(role kubernetes.Role) (s kubernetes.State) {
	w := plugin(role, "gpu-operator", "")
	w.Kind = "Deployment"
	s.Helpers.Value = []kubernetes.Workload{w}
	return s
}

func withDevices(driver string) (s kubernetes.State) {
	s.Devices.Value = []kubernetes.Devices{{Driver: driver, Nodes: map[string]int{"a": 4}}}
	return s
}

func TestNodesForAddons(t *testing.T) {
	newer := gpuNode("c", "4", "0")
	newer.Labels[corev1.LabelInstanceTypeStable] = "p9.48xlarge"
	in := installing{state: withNodes(gpuNode("a", "0", "0"), newer)}
	got := in.order(addons.EFA).Nodes
	for _, name := range []string{"g6.12xlarge", "p9.48xlarge", "p6-b300.48xlarge", "g7e.48xlarge", "p5.4xlarge"} {
		if !slices.Contains(got.GPUTypes, name) || !slices.Contains(got.EFATypes, name) {
			t.Errorf("%s is not among types with GPUs and EFA", name)
		}
	}
	if !got.AllGPU || slices.Contains(got.EFATypes, "g6.xlarge") || !slices.Contains(got.GPUTypes, "g6.xlarge") {
		t.Errorf("all nodes have GPUs: %t, g6.xlarge among %v", got.AllGPU, got.EFATypes)
	}
}

func TestFixable(t *testing.T) {
	check := ClusterCheck{Findings: []kubernetes.Finding{
		{Level: kubernetes.Unknown, Addon: "kuberay"}, // it may run elsewhere
		{Level: kubernetes.Problem, Addon: "efa"}, {Level: kubernetes.Problem}, {Level: kubernetes.Warning, Addon: "nvidia"},
	}}
	if got, want := check.Fixable(), []addons.Name{addons.NVIDIA, addons.EFA}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestStandingOfAddons(t *testing.T) {
	waiting := func(outlook kube.Outlook) addons.Pods {
		return addons.Pods{All: 2, Ready: 1, Waiting: []addons.PodReason{{
			Name: "p", Node: "a", Reason: kube.Reason{Cause: kube.Image, Outlook: outlook, Text: "no such image", Hint: "look there"},
		}}}
	}
	lacks := withNodes(gpuNode("a", "0", "0"), gpuNode("b", "4", "1"), downNode("c"))
	status := func(state kubernetes.State, name addons.Name) AddonStatus {
		return statusOf(state, []addons.Name{name})[0]
	}
	operator := func(ready int) (s kubernetes.State) {
		w := plugin("KubeRay operator", "kuberay-operator", kube.Manager)
		w.Wanted, w.Ready = 1, ready
		s.Operators.Value = []kubernetes.Operator{{Workload: w}}
		return s
	}
	tests := []struct {
		name     string
		standing standing
		works    bool
		hopeless bool
		says     []string
	}{
		{"nodes lack them", standing{status: status(lacks, addons.NVIDIA)}, false, false, []string{"1 of 2 nodes offer nvidia.com/gpu; 1 node down", "a: no nvidia.com/gpu: no NVIDIA device plugin is installed"}},
		{"a pod may heal", standing{status: status(lacks, addons.EFA), pods: waiting(kube.Doubtful)}, false, false, []string{"pod p on node a: no such image"}},
		{"a pod does not", standing{status: status(lacks, addons.EFA), pods: waiting(kube.Hopeless)}, false, true, nil},
		{"all offer, one is restarting", standing{status: status(withNodes(gpuNode("a", "4", "1")), addons.EFA), pods: waiting(kube.Hopeless)}, true, false, nil},
		{"no nodes yet", standing{status: status(kubernetes.State{}, addons.NVIDIA)}, true, false, []string{"no node has nvidia.com/gpu now"}},
		{"no API", standing{status: status(operator(1), addons.KubeRay)}, false, false, []string{"does not serve ray.io/v1"}},
		{"operator starts", standing{status: status(operator(0), addons.KubeRay), served: true}, false, false, []string{"0 of 1 pod ready"}},
		{"operator runs", standing{status: status(operator(1), addons.KubeRay), pods: addons.Pods{All: 1, Ready: 1}, served: true}, true, false, nil},
		{"no operator yet", standing{status: status(kubernetes.State{}, addons.KubeRay), served: true}, false, false, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.standing.works(); got != test.works {
				t.Errorf("works: %t", got)
			}
			if err := test.standing.hopeless(); (err != nil) != test.hopeless {
				t.Errorf("hopeless: %v", err)
			}
			for _, text := range test.says {
				if !strings.Contains(test.standing.why(), text) {
					t.Errorf("%q says nothing of %q", test.standing.why(), text)
				}
			}
		})
	}
}
