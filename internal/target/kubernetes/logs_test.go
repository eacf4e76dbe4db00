package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainyard/trainyard/internal/kube"
)

// A container may have been started again between the look at its status and that
// at its log.
func TestLastWords(t *testing.T) {
	l := newLab(t)
	l.room()
	pod := l.worker("crashed")
	l.Make(pod)
	l.Until("pod that runs", func() bool {
		l.Must(l.Get(t.Context(), l.Key(pod.Name), pod))
		return pod.Status.Phase == corev1.PodRunning
	})
	file := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		l.Must(os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	logs := map[string]any{
		"containers": []any{"ray-worker"}, "logsFile": file("now", ""),
		"previousLogsFile": file("before", "2026-11-30T11:00:00Z stderr F out of memory\n"),
	}
	l.Make(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Logs",
		"metadata": map[string]any{"name": pod.Name, "namespace": l.Namespace},
		"spec":     map[string]any{"logs": []any{logs}},
	}})
	named := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: l.Namespace}}
	l.Until("log", func() bool { // kwok learns of it
		_, err := l.admin.LastLines(t.Context(), named, "ray-worker", true, 1)
		return err == nil
	})
	for _, previous := range []bool{true, false} {
		reason := podReason{kube.Reason{Cause: kube.Crash, Text: "it ended", Container: "ray-worker", Previous: previous}, []string{pod.Name}}
		told := readiness{reasons: []podReason{reason}}.withLogs(t.Context(), l.admin)
		if text := told.reasons[0].Text; !strings.Contains(text, "out of memory") {
			t.Errorf("previous %v: %q", previous, text)
		}
	}
}
