package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The events by which autoscalers say what they do about a pod: the cluster
// autoscaler's TriggeredScaleUp and NotTriggerScaleUp, and Karpenter's Nominated
// and, like the scheduler's but from another source, FailedScheduling.
const (
	scaleUp   = "TriggeredScaleUp"
	noScaleUp = "NotTriggerScaleUp"
	nominated = "Nominated"
	failed    = "FailedScheduling"
	karpenter = "karpenter"
)

// notScheduled is about a pod without a node.
func notScheduled(pod *corev1.Pod, events []corev1.Event, nodes []corev1.Node) Reason {
	scheduled := condition(pod, corev1.PodScheduled)
	switch scheduled.Reason {
	case corev1.PodReasonSchedulingGated:
		return Reason{Cause: Gated, Outlook: Coming, Text: "a queue has yet to admit it: " + gates(pod)}
	case "":
		return Reason{Cause: Starting, Text: "the scheduler has not looked at it yet"}
	}
	r := Reason{Cause: Unschedulable, Outlook: Doubtful, Text: scheduled.Message}
	missing, hint := lacking(pod, nodes)
	scaler := autoscaler(events)
	switch {
	case scaler != nil && (scaler.Reason == scaleUp || scaler.Reason == nominated):
		return Reason{Cause: NodeComing, Outlook: Coming, Text: scaler.Message}
	case missing != "":
		r.Outlook = Hopeless
		r.Text += "; " + missing
		r.Hint = hint
	}
	if scaler != nil { // it looked, and found no node that it could make
		r.Text += "; the autoscaler: " + scaler.Message
	}
	return r
}

func gates(pod *corev1.Pod) string {
	var names []string
	for _, gate := range pod.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	return strings.Join(names, ", ")
}

// autoscaler returns what an autoscaler last said of a pod, or nil.
func autoscaler(events []corev1.Event) *corev1.Event {
	for i := len(events) - 1; i >= 0; i-- {
		switch e := &events[i]; {
		case e.Reason == scaleUp, e.Reason == noScaleUp, e.Reason == nominated,
			e.Reason == failed && (e.Source.Component == karpenter || e.ReportingController == karpenter):
			return e
		}
	}
	return nil
}

// lacking says which resource the pod asks for more of than any of its nodes
// has, be it free or used: that one does not come by waiting. It returns "" where
// there is none, and where no node has the labels of the pod's nodeSelector;
// affinities and taints it leaves to the scheduler.
func lacking(pod *corev1.Pod, nodes []corev1.Node) (text, hint string) {
	selector := labels.SelectorFromSet(pod.Spec.NodeSelector)
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n corev1.Node) bool { return !selector.Matches(labels.Set(n.Labels)) })
	if len(nodes) == 0 {
		return "", ""
	}
	wanted := requests(pod)
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		quantity := wanted[name]
		most, where := nodes[0].Status.Allocatable[name], nodes[0].Name
		for _, node := range nodes[1:] {
			if has := node.Status.Allocatable[name]; has.Cmp(most) > 0 {
				most, where = has, node.Name
			}
		}
		if quantity.Cmp(most) <= 0 {
			continue
		}
		if most.IsZero() {
			return fmt.Sprintf("no node that it may run on has %s (%s)", name, some(nodes)), pluginHints[name]
		}
		return fmt.Sprintf("it asks for %s of %s, and no node that it may run on has more than %s (%s)", quantity.String(), name, most.String(), where), ""
	}
	return "", ""
}

// some names a few nodes.
func some(nodes []corev1.Node) string {
	names := make([]string, 0, len(nodes))
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

// requests returns what the containers of a pod ask for together. Init
// containers run before them and are left out.
func requests(pod *corev1.Pod) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, container := range pod.Spec.Containers {
		for name, quantity := range container.Resources.Requests {
			total := sum[name]
			total.Add(quantity)
			sum[name] = total
		}
	}
	return sum
}

// pluginHints say what makes a device of NVIDIA or AWS known to a cluster.
var pluginHints = map[corev1.ResourceName]string{
	"nvidia.com/gpu":        "The NVIDIA device plugin may be missing: " + InstallNVIDIA,
	"vpc.amazonaws.com/efa": "The EFA device plugin may be missing: " + InstallEFA,
}
