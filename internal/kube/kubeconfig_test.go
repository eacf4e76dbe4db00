package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/internal/fault"
)

// kubeconfig writes one with these contexts, each of a cluster of its own, and
// returns its path.
func kubeconfig(t *testing.T, current string, contexts ...string) string {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: v1\nkind: Config\ncurrent-context: %q\ncontexts:\n", current)
	for i, name := range contexts {
		fmt.Fprintf(&text, "- name: %q\n  context: {cluster: c%d, user: u, namespace: team-%d}\n", name, i, i)
	}
	text.WriteString("clusters:\n")
	for i := range contexts {
		fmt.Fprintf(&text, "- name: c%d\n  cluster: {server: 'https://c%d.example:6443'}\n", i, i)
	}
	text.WriteString("users:\n- name: u\n  user: {token: secret}\n")
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConnect(t *testing.T) {
	path := kubeconfig(t, "b", "a", "b")
	gone := filepath.Join(t.TempDir(), "gone")
	tests := []struct {
		name                       string
		access                     Access
		context, namespace, server string
	}{
		{"current context", Access{Kubeconfig: path}, "b", "team-1", "https://c1.example:6443"},
		{"context", Access{Kubeconfig: path, Context: "a"}, "a", "team-0", "https://c0.example:6443"},
		{"namespace", Access{Kubeconfig: path, Namespace: "mine"}, "b", "mine", "https://c1.example:6443"},
		{"list with a missing file", Access{Kubeconfig: gone + string(os.PathListSeparator) + path}, "b", "team-1", "https://c1.example:6443"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Connect(test.access)
			if err != nil {
				t.Fatal(err)
			}
			if c.Context != test.context || c.Namespace != test.namespace || c.Server != test.server {
				t.Errorf("context %q, namespace %q, server %q; want %q, %q, %q",
					c.Context, c.Namespace, c.Server, test.context, test.namespace, test.server)
			}
		})
	}
}

func TestConnectFails(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	eks := "arn:aws:eks:us-west-2:111122223333:cluster/gpu"
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("contexts: {"), 0o600); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(t.TempDir(), "dangling")
	if err := os.WriteFile(dangling, []byte("current-context: x\ncontexts: [{name: x, context: {cluster: gone, user: me}}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name       string
		access     Access
		want, hint string
	}{
		{"missing file", Access{Kubeconfig: "/no/such/config"}, `"/no/such/config" does not exist`, "KUBECONFIG"},
		{"no current context", Access{Kubeconfig: kubeconfig(t, "", "b", "a")}, `no current one; there are "a", "b"`, "use-context a"},
		{"unknown context", Access{Kubeconfig: kubeconfig(t, "", eks, "kind"), Context: "GPU"}, `no context "GPU"; there are`, "did you mean --context " + eks + "?"},
		{"misspelt context", Access{Kubeconfig: kubeconfig(t, "a", "prod", "staging"), Context: "stagign"}, `no context "stagign"`, "did you mean --context staging?"},
		{"current context is gone", Access{Kubeconfig: kubeconfig(t, "old", "a")}, `no context "old"`, ""},
		{"no contexts", Access{Kubeconfig: kubeconfig(t, "")}, "has none", ""},
		{"not YAML", Access{Kubeconfig: broken}, broken, ""},
		{"context without a cluster", Access{Kubeconfig: dangling}, `cluster "gone"`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Connect(test.access)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want one with %q", err, test.want)
			}
			if hints := strings.Join(fault.HintsOf(err), "\n"); !strings.Contains(hints, test.hint) {
				t.Errorf("hints %q, want one with %q", hints, test.hint)
			}
		})
	}
}

func TestNothingIsConfigured(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := inPod(Access{}, "/home/me/.kube/config")
	if err == nil || !strings.Contains(err.Error(), `no kubeconfig at "/home/me/.kube/config"`) || len(fault.HintsOf(err)) == 0 {
		t.Errorf("error %v, hints %q", err, fault.HintsOf(err))
	}
}
