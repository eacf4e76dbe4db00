package addons

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Nodes is what add-ons need to know of a cluster's nodes to choose among them.
type Nodes struct {
	GPUTypes []string // instance types with GPUs
	EFATypes []string // instance types with EFA
	AllGPU   bool     // there are nodes, and all have GPUs
}

// Labels that say what a node has, whatever its type. The first is the device
// plugin's own, the second the Node Feature Discovery's, the third AWS's.
const (
	gpuPresent = "nvidia.com/gpu.present"
	pciPresent = "feature.node.kubernetes.io/pci-10de.present"
	efaPresent = "vpc.amazonaws.com/efa.present"
)

// computeType tells nodes that EKS runs by itself, and on which it has device
// plugins already.
const computeType = "eks.amazonaws.com/compute-type"

// withGPUs are the nodes for NVIDIA's plugin: those that are labelled, and those
// of types with GPUs, labelled or not.
func (n Nodes) withGPUs() *corev1.NodeSelector {
	return anyOf(is(gpuPresent, "true"), is(pciPresent, "true"), is(corev1.LabelInstanceTypeStable, n.GPUTypes...))
}

func (n Nodes) withEFA() *corev1.NodeSelector {
	return anyOf(is(efaPresent, "true"), is(corev1.LabelInstanceTypeStable, n.EFATypes...))
}

// withoutGPUs is where an operator goes: to nodes for the system, if there are
// any, and never to those with GPUs unless there are no others.
func (n Nodes) withoutGPUs() *corev1.NodeAffinity {
	system := corev1.PreferredSchedulingTerm{Weight: 100, Preference: allOf(is("role", "system"))}
	none := allOf(isNot(gpuPresent, "true"), isNot(pciPresent, "true"), isNot(corev1.LabelInstanceTypeStable, n.GPUTypes...))
	affinity := &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{system}}
	if !n.AllGPU {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{none}}
	}
	return affinity
}

// anyOf selects the nodes for which one requirement holds, but those of EKS.
func anyOf(requirements ...corev1.NodeSelectorRequirement) *corev1.NodeSelector {
	var terms []corev1.NodeSelectorTerm
	for _, r := range requirements {
		if len(r.Values) > 0 {
			terms = append(terms, allOf(r, isNot(computeType, "auto", "fargate")))
		}
	}
	return &corev1.NodeSelector{NodeSelectorTerms: terms}
}

// allOf leaves out requirements without values, which Kubernetes refuses.
func allOf(requirements ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: slices.DeleteFunc(requirements, func(r corev1.NodeSelectorRequirement) bool {
		return len(r.Values) == 0
	})}
}

func is(label string, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: label, Operator: corev1.NodeSelectorOpIn, Values: values}
}

func isNot(label string, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: label, Operator: corev1.NodeSelectorOpNotIn, Values: values}
}
