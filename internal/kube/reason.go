package kube

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// An Outlook says what waiting does for a pod that is not ready.
type Outlook int

// Outlooks, from the best to the worst.
const (
	Coming   Outlook = iota // it takes its course
	Doubtful                // something is wrong that may heal by itself
	Hopeless                // it stays as it is until somebody changes something
)

// A Cause is why a pod is not ready, in one word.
type Cause string

// Causes.
const (
	Starting      Cause = "starting"       // nothing is wrong
	Unschedulable Cause = "unschedulable"  // no node takes it
	Gated         Cause = "gated"          // a queue, such as Kueue's, has yet to admit it
	NodeComing    Cause = "node coming"    // an autoscaler makes a node for it
	NodeLost      Cause = "node not ready" // its node does not answer
	Image         Cause = "image"          // its image does not come
	Setup         Cause = "setup"          // volumes, network, or what its environment refers to
	Crash         Cause = "crash"          // a container ended that should run
	OutOfMemory   Cause = "out of memory"  // a container was killed for its memory
	Unhealthy     Cause = "unhealthy"      // it runs, and its probes say no
	Evicted       Cause = "evicted"        // it was driven from its node
	Leaving       Cause = "being deleted"  // somebody deleted it
	NotCreated    Cause = "not created"    // quota, admission: there is no pod
)

// A Reason says why a pod is not ready. The zero value says that it is.
type Reason struct {
	Cause   Cause
	Outlook Outlook
	Text    string // in the words of the scheduler, the kubelet or who else it was
	Hint    string // what may help; may be empty

	// Container is the one whose log may say more, of the run before the
	// present one where Previous is set; see [Reason.WithLog].
	Container string
	Previous  bool
}

// WithLog returns the reason with the last lines of its container's log.
func (r Reason) WithLog(lines string) Reason {
	if lines = strings.TrimRight(lines, "\n"); lines != "" {
		r.Text += "; its last lines:\n  " + strings.ReplaceAll(lines, "\n", "\n  ")
	}
	return r
}

// WhyNotReady says why a pod is not ready. events are those about it, in any
// order. nodes are those that it might run on, or all; without them a resource
// that no node has cannot be told from one that others use.
func WhyNotReady(pod *corev1.Pod, events []corev1.Event, nodes *Nodes) Reason {
	switch {
	case pod.DeletionTimestamp != nil:
		return leaving(pod, nodes)
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "":
		return driven(pod.Status.Reason, pod.Status.Message)
	case condition(pod, corev1.PodReady).Status == corev1.ConditionTrue:
		return Reason{}
	}
	events = byTime(events)
	switch {
	case condition(pod, corev1.PodScheduled).Status != corev1.ConditionTrue && pod.Spec.NodeName == "":
		return notScheduled(pod, events, nodes)
	}
	if r, lost := nodeLost(pod, events, nodes); lost {
		return r
	}
	return notRunning(pod, events)
}

// leaving is about a pod that was deleted: by whom, and what it waits for.
func leaving(pod *corev1.Pod, nodes *Nodes) Reason {
	r := Reason{Cause: Leaving, Outlook: Doubtful, Text: "it is being deleted"}
	if target := condition(pod, corev1.DisruptionTarget); target.Status == corev1.ConditionTrue {
		r = driven(target.Reason, target.Message)
	}
	if lost, is := nodeLost(pod, nil, nodes); is {
		r.Text += ", and stays until its node answers: " + lost.Text
		r.Hint = lost.Hint
	}
	return r
}

// driven is about a pod that the cluster ended: evicted, preempted, not
// admitted by the kubelet. Whoever made it makes another.
func driven(reason, message string) Reason {
	return Reason{Cause: Evicted, Outlook: Doubtful, Text: sentence(reason, message)}
}

// nodeLost says whether the pod's node does not answer.
func nodeLost(pod *corev1.Pod, events []corev1.Event, nodes *Nodes) (Reason, bool) {
	r := Reason{Cause: NodeLost, Outlook: Doubtful, Hint: "see what became of it: kubectl describe node " + pod.Spec.NodeName}
	if node := nodes.named(pod.Spec.NodeName); node != nil {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				r.Text = fmt.Sprintf("its node %s is not ready: %s", node.Name, sentence(c.Reason, c.Message))
				return r, true
			}
		}
		return r, false // what the node says outweighs an event
	}
	if n := len(events); n > 0 && events[n-1].Reason == "NodeNotReady" {
		r.Text = fmt.Sprintf("its node %s is not ready", pod.Spec.NodeName)
		return r, true
	}
	return r, false
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

// sentence joins a reason in one word with its message.
func sentence(reason, message string) string {
	message = strings.TrimSpace(message)
	switch {
	case message == "":
		return reason
	case reason == "" || strings.Contains(message, reason):
		return message
	default:
		return reason + ": " + message
	}
}

// byTime returns events from the first to the last.
func byTime(events []corev1.Event) []corev1.Event {
	return slices.SortedStableFunc(slices.Values(events), func(a, b corev1.Event) int {
		return cmp.Or(eventTime(a).Compare(eventTime(b)), cmp.Compare(a.ResourceVersion, b.ResourceVersion))
	})
}

// eventTime is when an event was last seen: there are an old and a new way to
// say so.
func eventTime(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	default:
		return e.EventTime.Time
	}
}

// times is how often an event was seen.
func times(e corev1.Event) int {
	if e.Series != nil {
		return int(e.Series.Count)
	}
	return max(int(e.Count), 1)
}

// last returns the latest event with one of these reasons, or nil. events are
// in order.
func last(events []corev1.Event, reasons ...string) *corev1.Event {
	for i := len(events) - 1; i >= 0; i-- {
		if slices.Contains(reasons, events[i].Reason) {
			return &events[i]
		}
	}
	return nil
}

// containsAny says whether a text has one of these in it, whatever the case.
func containsAny(text string, parts ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}
