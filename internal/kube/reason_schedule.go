package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
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
func notScheduled(pod *corev1.Pod, events []corev1.Event, nodes *Nodes) Reason {
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
		r.Text += "; " + missing
		r.Hint = hint
		if !nodes.mayGrow {
			r.Outlook = Hopeless
		}
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
// has, be it free or used: that one does not come by waiting, but with another
// node. It returns "" where there is none, and where no node has the labels of the
// pod's nodeSelector; affinities and taints it leaves to the scheduler.
func lacking(pod *corev1.Pod, nodes *Nodes) (text, hint string) {
	there := nodes.offer(pod.Spec.NodeSelector)
	if len(there.nodes) == 0 {
		return "", ""
	}
	wanted := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		quantity, best := wanted[name], there.most[name]
		switch {
		case quantity.Cmp(best.quantity) <= 0:
		case best.quantity.IsZero():
			return fmt.Sprintf("no node that it may run on has %s (%s)", name, some(there.nodes)), pluginHints[name]
		default:
			return fmt.Sprintf("it asks for %s of %s, and no node that it may run on has more than %s (%s)",
				quantity.String(), name, best.quantity.String(), best.node), ""
		}
	}
	return "", ""
}

// some names a few nodes.
func some(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

// pluginHints say what makes a device of NVIDIA or AWS known to a cluster.
var pluginHints = map[corev1.ResourceName]string{
	"nvidia.com/gpu":        "the NVIDIA device plugin may be missing: " + InstallNVIDIA,
	"vpc.amazonaws.com/efa": "the EFA device plugin may be missing: " + InstallEFA,
}
