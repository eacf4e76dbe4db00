package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
)

// KubeRay's labels of the pods that it makes.
const (
	rayClusterLabel  = "ray.io/cluster"
	rayNodeTypeLabel = "ray.io/node-type"
)

// readiness is how far the pods of a RayCluster have come. It is counted from
// pods: the state that KubeRay writes stays "ready" when they are lost.
type readiness struct {
	head    bool
	workers int // ready ones
	want    int
	silent  bool // there is no pod, and nobody says why
	reasons []podReason
}

// podReason is why pods are not ready, of all that wait for the same.
type podReason struct {
	kube.Reason
	pods []string // names; "" is one that does not exist yet
}

// readinessOf counts the ready pods of a RayCluster and says what the others, and
// those that do not exist yet, wait for.
func readinessOf(want int, seen kube.Seen, cluster types.UID, nodes *kube.Nodes) readiness {
	r := readiness{want: want}
	pods := podsBy(cluster, seen.Pods)
	var since time.Time // when the head became ready; zero where it is not
	headFirst := func(a, b *corev1.Pod) int { return cmp.Compare(rank(a), rank(b)) }
	for _, pod := range slices.SortedStableFunc(slices.Values(pods), headFirst) {
		reason := kube.WhyNotReady(pod, seen.Events(pod.UID), nodes)
		switch {
		case reason.Cause == "" && isHead(pod):
			r.head, since = true, readySince(pod)
		case reason.Cause == "":
			r.workers++
		case reason.Cause == kube.Crash && !isHead(pod) && (!r.head || kube.LastEnd(pod).Before(since)):
			reason.Outlook = min(reason.Outlook, kube.Doubtful) // Ray ends where it finds no head
			r.wait(pod.Name, reason)
		default:
			r.wait(pod.Name, reason)
		}
	}
	if reason := kube.WhyNoPod(seen.Events(cluster)); reason.Cause != "" && len(pods) <= want {
		r.wait("", reason)
	}
	r.silent = len(pods) == 0 && len(r.reasons) == 0
	return r
}

func isHead(pod *corev1.Pod) bool {
	return pod.Labels[rayNodeTypeLabel] == string(rayv1.HeadNode)
}

// rank puts the head before the workers, which wait for it.
func rank(pod *corev1.Pod) int {
	if isHead(pod) {
		return 0
	}
	return 1
}

func readySince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// podsBy are those of the pods that the RayCluster with this identifier has. Others
// have its label, too: of one of that name that was deleted and whose pods are still
// on their way out.
func podsBy(cluster types.UID, pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !isBy(cluster, pod) })
}

func isBy(cluster types.UID, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.UID == cluster
}

func (r *readiness) wait(pod string, reason kube.Reason) {
	same := func(other podReason) bool { return other.Cause == reason.Cause && other.Text == reason.Text }
	if at := slices.IndexFunc(r.reasons, same); at >= 0 {
		r.reasons[at].pods = append(r.reasons[at].pods, pod)
		return
	}
	r.reasons = append(r.reasons, podReason{reason, []string{pod}})
}

// done tells whether all pods are ready.
func (r readiness) done() bool { return r.head && r.workers >= r.want }

// String is for people who wait: what is ready, and the first thing that is not
// taking its course.
func (r readiness) String() string {
	head := "head is starting"
	if r.head {
		head = "head is ready"
	}
	text := fmt.Sprintf("%s, %d of %d workers are ready", head, r.workers, r.want)
	for _, reason := range r.reasons {
		if reason.Outlook != kube.Coming {
			return text + "; " + reason.String()
		}
	}
	return text
}

// String names the pods that wait and what for.
func (r podReason) String() string {
	who := "a pod"
	if name := r.pods[0]; name != "" {
		who = "pod " + name
	}
	if more := len(r.pods) - 1; more > 0 {
		who += fmt.Sprintf(" and %d more", more)
	}
	return who + ": " + r.Text
}

// hopeless is the error of pods that will not become ready by waiting; nil
// where there are none.
func (r readiness) hopeless() error {
	var lines, hints []string
	for _, reason := range r.reasons {
		if reason.Outlook == kube.Hopeless {
			lines = append(lines, reason.String())
			if reason.Hint != "" && !slices.Contains(hints, reason.Hint) {
				hints = append(hints, reason.Hint)
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	err := fmt.Errorf("waiting for the Ray cluster: %s", strings.Join(lines, "; "))
	for _, hint := range hints {
		err = fault.WithHint(hint, err)
	}
	return err
}
