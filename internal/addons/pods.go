package addons

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
)

// shownPods is of how many pods the reasons are told.
const shownPods = 3

// Pods are those of an add-on.
type Pods struct {
	Ready, All int
	Waiting    []PodReason // some of those that are not ready
}

// PodReason is why a pod is not ready.
type PodReason struct {
	Name, Node string
	kube.Reason
}

// String is as in "pod x on node y: its image does not come".
func (r PodReason) String() string {
	if r.Node == "" {
		return fmt.Sprintf("pod %s: %s", r.Name, r.Text)
	}
	return fmt.Sprintf("pod %s on node %s: %s", r.Name, r.Node, r.Text)
}

// PodsOf looks at the pods of an add-on that we installed.
func PodsOf(ctx context.Context, cluster *kube.Cluster, addon Name) (Pods, error) {
	var pods Pods
	var list corev1.PodList
	if err := cluster.List(ctx, &list, client.InNamespace(Namespace), client.MatchingLabels{Label: string(addon)}); err != nil {
		return pods, fmt.Errorf("looking at the pods of the %s: %w", addon.Title(), err)
	}
	pods.All = len(list.Items)
	for i := range list.Items {
		pod := &list.Items[i]
		reason := kube.WhyNotReady(pod, nil, nil)
		if reason.Cause == "" {
			pods.Ready++
			continue
		}
		if len(pods.Waiting) == shownPods {
			continue
		}
		var events corev1.EventList
		about := fields.OneTermEqualSelector("involvedObject.uid", string(pod.UID))
		if err := cluster.List(ctx, &events, client.InNamespace(Namespace), client.MatchingFieldsSelector{Selector: about}); err == nil {
			reason = kube.WhyNotReady(pod, events.Items, nil) // events only say more
		}
		pods.Waiting = append(pods.Waiting, PodReason{pod.Name, pod.Spec.NodeName, reason})
	}
	return pods, nil
}
