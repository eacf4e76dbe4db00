package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Resources that say what a node is good for.
const (
	gpuResource corev1.ResourceName = "nvidia.com/gpu"
	efaResource corev1.ResourceName = "vpc.amazonaws.com/efa"
	hugePages   corev1.ResourceName = corev1.ResourceHugePagesPrefix + "2Mi"
)

// Obstacles are what keeps a pod off a node however much room there is.
type Obstacles struct {
	Labels   []string // that the node lacks, "role=gpu-worker"
	Affinity string   // what the pod's node affinity wants, where the node is not so
	Taints   []string // that the pod does not tolerate, "dedicated=ml:NoSchedule"
}

// None tells whether the pod may go there.
func (o Obstacles) None() bool { return len(o.Labels)+len(o.Taints) == 0 && o.Affinity == "" }

// String tells them to a person.
func (o Obstacles) String() string {
	var parts []string
	if len(o.Labels) > 0 {
		parts = append(parts, "label "+strings.Join(o.Labels, ", ")+" is missing")
	}
	if o.Affinity != "" {
		parts = append(parts, "node affinity wants "+o.Affinity)
	}
	if len(o.Taints) > 0 {
		parts = append(parts, "taint "+strings.Join(o.Taints, ", ")+" is not tolerated")
	}
	return strings.Join(parts, "; ")
}

// Between returns what keeps a pod off a node: the scheduler's own functions
// judge. Taints by which Kubernetes says how a node is (not ready, cordoned) are
// passed over: they come and go.
func Between(pod *corev1.PodSpec, node *corev1.Node) Obstacles {
	var o Obstacles
	for key, value := range pod.NodeSelector {
		if node.Labels[key] != value {
			o.Labels = append(o.Labels, key+"="+value)
		}
	}
	slices.Sort(o.Labels)
	// An affinity that cannot be parsed matches nothing, to the scheduler too.
	if matches, err := nodeaffinity.NewRequiredNodeAffinity(nil, pod.Affinity).Match(node); err != nil || !matches {
		o.Affinity = affinityText(pod.Affinity)
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule || strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
			continue
		}
		if !scheduling.TolerationsTolerateTaint(klog.Logger{}, pod.Tolerations, &taint, true) {
			o.Taints = append(o.Taints, taint.ToString())
		}
	}
	return o
}

// affinityText writes the terms of a required node affinity: one of them must
// hold.
func affinityText(affinity *corev1.Affinity) string {
	var terms []string
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		var parts []string
		for _, e := range append(slices.Clone(term.MatchExpressions), term.MatchFields...) {
			parts = append(parts, requirementText(e))
		}
		terms = append(terms, strings.Join(parts, " and "))
	}
	return strings.Join(terms, ", or ")
}

// manyValues is how many values of a requirement are told.
const manyValues = 3

func requirementText(r corev1.NodeSelectorRequirement) string {
	switch {
	case r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1:
		return r.Key + "=" + r.Values[0]
	case r.Operator == corev1.NodeSelectorOpExists:
		return "label " + r.Key
	case r.Operator == corev1.NodeSelectorOpDoesNotExist:
		return "no label " + r.Key
	}
	return fmt.Sprintf("%s %s %s", r.Key, strings.ToLower(string(r.Operator)), few(r.Values, manyValues))
}

// few names things up to a number, and counts the rest.
func few(names []string, most int) string {
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Shortage is a resource of which a node has less than a pod asks for.
type Shortage struct {
	Resource   corev1.ResourceName
	Have, Want string
}

// String is as in "nvidia.com/gpu 2 of 4".
func (s Shortage) String() string { return fmt.Sprintf("%s %s of %s", s.Resource, s.Have, s.Want) }

// Shortages returns what is short for a request, sorted.
func Shortages(request, free corev1.ResourceList) []Shortage {
	var short []Shortage
	for name, want := range request {
		if have := free[name]; !want.IsZero() && have.Cmp(want) < 0 {
			short = append(short, Shortage{name, have.String(), want.String()})
		}
	}
	slices.SortFunc(short, func(a, b Shortage) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	return short
}

// requests is what a pod asks of a node, one place for a pod included.
func requests(spec *corev1.PodSpec) corev1.ResourceList {
	return asked(&corev1.Pod{Spec: *spec})
}

func add(to, more corev1.ResourceList) {
	for name, amount := range more {
		sum := to[name]
		sum.Add(amount)
		to[name] = sum
	}
}

// without returns what is left of a list.
func without(have, taken corev1.ResourceList) corev1.ResourceList {
	left := have.DeepCopy()
	for name, amount := range taken {
		if rest, counted := left[name]; counted {
			rest.Sub(amount)
			left[name] = rest
		}
	}
	return left
}

// count is a whole number of things, such as GPUs.
func count(list corev1.ResourceList, name corev1.ResourceName) int {
	amount := list[name]
	return int(amount.Value())
}
