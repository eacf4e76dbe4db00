package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/trainyard/trainyard/internal/target/kubernetes"
	"github.com/trainyard/trainyard/internal/ui"
	"github.com/trainyard/trainyard/internal/workflow"
)

const patch = `kubectl -n kube-system patch daemonset nvidia --type json -p '[{"op":"add","path":"/spec/template/spec/tolerations/-","value":{"key":"dedicated","operator":"Exists"}}]'`

func checked() workflow.ClusterCheck {
	return workflow.ClusterCheck{
		Context: "prod", Namespace: "ray-train", Server: "https://k8s.example",
		Findings: []kubernetes.Finding{
			{Level: kubernetes.OK, Check: "kubernetes", What: "v1.36.3"},
			{Level: kubernetes.Warning, Check: "zone", What: "no zone has 4 nodes", Remedy: "ask an administrator: kubectl get nodes"},
			{
				Level: kubernetes.Problem, Check: "gpus", What: "no nvidia.com/gpu: \x1b[2Jdaemonset kube-system/nvidia passes over the node: taint dedicated:NoSchedule is not tolerated",
				Where: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, Consequence: "no worker goes there", Remedy: patch,
			},
			{Level: kubernetes.Unknown, Check: "driver", What: "its version is not known", Remedy: "nvidia-smi on the node"},
		},
	}
}

func TestCheckText(t *testing.T) {
	want := `context prod, namespace ray-train, https://k8s.example

PROBLEM  gpus: no nvidia.com/gpu: daemonset kube-system/nvidia passes over the
         node: taint dedicated:NoSchedule is not tolerated
         where  a, b, c, d, e, f, g, h and 2 more nodes
         so     no worker goes there
         do     ` + patch + `

UNKNOWN  driver: its version is not known
         do     nvidia-smi on the node

WARNING  zone: no zone has 4 nodes
         do     ask an administrator:
                kubectl get nodes

ok       kubernetes        v1.36.3

1 problem, 1 unknown, 1 warning, 1 ok: a job would not run as it should
`
	got := checkText(checked(), false)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if colored := checkText(checked(), true); colored == got || ui.Harmless(strings.ReplaceAll(colored, "\n", "")) != strings.ReplaceAll(got, "\n", "") {
		t.Errorf("colours change more than colours:\n%s", colored)
	}
	for line := range strings.Lines(got) {
		if utf8.RuneCountInString(line) > ui.Columns+1 && !strings.Contains(line, "kubectl") {
			t.Errorf("too wide: %s", line)
		}
	}
}

func TestCheckSum(t *testing.T) {
	ends := map[kubernetes.Level]string{
		kubernetes.Problem: "1 problem: a job would not run as it should\n",
		kubernetes.Unknown: "1 unknown: nothing seen that stops a job, and not all was seen\n",
		kubernetes.Warning: "1 warning: a job may run\n",
		kubernetes.OK:      "1 ok: a job can run\n",
	}
	for level, end := range ends {
		c := workflow.ClusterCheck{Findings: []kubernetes.Finding{{Level: level, Check: "x", What: "y"}}}
		if got := checkText(c, false); !strings.HasSuffix(got, "\n"+end) {
			t.Errorf("%s: %s", level, got)
		}
		if failed := c.Err() != nil; failed != (level == kubernetes.Problem) {
			t.Errorf("%s: error %v", level, c.Err())
		}
	}
}
