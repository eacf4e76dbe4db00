package kubernetes

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/internal/kube"
)

// lastLines is how much of a container's log an error shows, logPatience how long
// reading it may take.
const (
	lastLines   = 10
	logPatience = 10 * time.Second
)

// withLogs adds to reasons what their containers said last. A log that cannot be read
// takes nothing away from what is known.
func (r readiness) withLogs(ctx context.Context, k *kube.Cluster) readiness {
	ctx, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	r.reasons = slices.Clone(r.reasons)
	for i, reason := range r.reasons {
		if reason.Container == "" {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: reason.pods[0], Namespace: k.Namespace}}
		if lines, err := k.LastLines(ctx, pod, reason.Container, reason.Previous, lastLines); err == nil {
			r.reasons[i].Reason = reason.WithLog(lines)
		}
	}
	return r
}
