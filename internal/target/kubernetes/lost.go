package kubernetes

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/target"
)

// Lost watches the head: jobs are lost as soon as the one that was ready at first is
// deleted, has failed or was started again, or at once where there is none. Where
// the pods may not be watched there is nothing to say, and that the API server does
// not answer says nothing about the head.
func (c *Cluster) Lost(ctx context.Context) error {
	var first *corev1.Pod
	err := c.kube.WatchPods(ctx, c.kube.Namespace, headOf(c.name), nil, func(seen kube.Seen) (bool, error) {
		pods := podsBy(c.uid, seen.Pods)
		for _, pod := range pods {
			if first == nil && kube.WhyNotReady(pod, nil, nil).Cause == "" {
				first = pod
			}
		}
		switch {
		case first != nil:
		case len(pods) == 0: // it went before we looked
			return true, fmt.Errorf("%w: it has no pod", target.ErrLost)
		default:
			return false, nil
		}
		if why := lost(first, pods); why != "" {
			return true, fmt.Errorf("%w: pod %s %s", target.ErrLost, first.Name, why)
		}
		return false, nil
	})
	if errors.Is(err, target.ErrLost) {
		return fmt.Errorf("%w; %s", err, stateOf(ctx, c.kube, c.name, c.uid))
	}
	return nil
}

// lost says what became of a pod that was ready once, by what is there now; ""
// where Ray goes on in it.
func lost(first *corev1.Pod, pods []*corev1.Pod) string {
	for _, pod := range pods {
		switch {
		case pod.UID != first.UID:
			continue
		case pod.DeletionTimestamp != nil, pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
			return "has ended: " + kube.WhyNotReady(pod, nil, nil).Text
		}
		for i, now := range pod.Status.ContainerStatuses {
			if i < len(first.Status.ContainerStatuses) && now.RestartCount > first.Status.ContainerStatuses[i].RestartCount {
				return fmt.Sprintf("was started again: container %s %s", now.Name, ended(now))
			}
		}
		return ""
	}
	return "was deleted"
}

// ended says how the run of a container before the present one ended.
func ended(s corev1.ContainerStatus) string {
	if t := s.LastTerminationState.Terminated; t != nil {
		return fmt.Sprintf("ended with exit code %d (%s)", t.ExitCode, t.Reason)
	}
	return "ended"
}
