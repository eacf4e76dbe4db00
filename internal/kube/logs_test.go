package kube

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainyard/trainyard/test/kubetest"
)

func TestLastLines(t *testing.T) {
	lab := kubetest.New(t)
	lab.Nodes(corev1.Node{}, 0)
	c := connect(t, lab)
	pod := running(t, c, "crashed")
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte("2026-11-30T11:00:00Z stdout F one\n2026-11-30T11:00:01Z stdout F two\n2026-11-30T11:00:02Z stdout F three\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	create(t, c, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Logs",
		"metadata": map[string]any{"name": "crashed", "namespace": c.Namespace},
		"spec":     map[string]any{"logs": []any{map[string]any{"containers": []any{"main"}, "logsFile": file}}},
	}})
	var text string
	var err error
	eventually(t, func() bool { // kwok learns of the log
		text, err = c.LastLines(t.Context(), pod, "main", false, 2)
		return err == nil
	})
	if text != "two\nthree\n" {
		t.Errorf("got %q", text)
	}
	_, err = c.LastLines(t.Context(), pod, "other", false, 2)
	wantError(t, err, `reading the log of container other of pod crashed: `, "")
}
