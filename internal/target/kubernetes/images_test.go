package kubernetes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestSameImage(t *testing.T) {
	pod := func(name, image string) corev1.Pod {
		var p corev1.Pod
		p.Name = name
		p.Spec.Containers = []corev1.Container{{Name: "ray"}, {Name: "sidecar"}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "sidecar", ImageID: "other@sha256:9"}, {Name: "ray", ImageID: image}}
		return p
	}
	for _, test := range []struct {
		name  string
		pods  []corev1.Pod
		want  string
		wrong string // part of the error
	}{
		{"none", nil, "", ""},
		{"one", []corev1.Pod{pod("head", "ray@sha256:1"), pod("w0", "ray@sha256:1")}, "ray@sha256:1", ""},
		{"one pod does not say", []corev1.Pod{pod("head", "ray@sha256:1"), pod("w0", "")}, "ray@sha256:1", ""},
		{"two", []corev1.Pod{pod("head", "ray@sha256:1"), pod("w1", "ray@sha256:2"), pod("w0", "ray@sha256:2")}, "", "ray@sha256:1 in head; ray@sha256:2 in w0, w1"},
	} {
		got, err := sameImage("ray", test.pods)
		if got != test.want || (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: %q, %v; want %q, %q", test.name, got, err, test.want, test.wrong)
		}
	}
}
