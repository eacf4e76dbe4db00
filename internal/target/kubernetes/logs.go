package kubernetes

import (
	"context"
	"slices"
	"strings"
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

// withLogs adds to reasons what their containers said last. A log that cannot be
// read takes nothing away from what is known.
func (r readiness) withLogs(ctx context.Context, k *kube.Cluster) readiness {
	ctx, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	r.reasons = slices.Clone(r.reasons)
	for i, reason := range r.reasons {
		if reason.Container == "" {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: reason.pods[0], Namespace: k.Namespace}}
		r.reasons[i].Reason = reason.WithLog(lastWords(ctx, k, pod, reason.Reason))
	}
	return r
}

// lastWords is what a container said last, "" where that cannot be read. It may
// have been started again, or not yet, since its status was: then the run that the
// reason is about is the other one.
func lastWords(ctx context.Context, k *kube.Cluster, pod *corev1.Pod, reason kube.Reason) string {
	for _, previous := range []bool{reason.Previous, !reason.Previous} {
		lines, err := k.LastLines(ctx, pod, reason.Container, previous, lastLines)
		if err == nil && strings.TrimSpace(lines) != "" {
			return lines
		}
	}
	return ""
}
