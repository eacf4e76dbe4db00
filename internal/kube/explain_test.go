package kube

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/wait"
	"github.com/trainyard/trainyard/test/kubetest"
)

// wantError fails unless err and its hints have these words in them.
func wantError(t *testing.T, err error, text, hint string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("error %v, want one with %q", err, text)
	}
	if hints := strings.Join(fault.HintsOf(err), "\n"); !strings.Contains(hints, hint) {
		t.Errorf("hints %q, want one with %q", hints, hint)
	}
	if code := fault.CodeOf(err); code != fault.Error {
		t.Errorf("exit code %d, want %d", code, fault.Error)
	}
	t.Logf("error %v\nhint %s", err, strings.Join(fault.HintsOf(err), "\nhint "))
}

// connectTo writes a kubeconfig for a server and connects to it.
func connectTo(t *testing.T, server, user string) *Cluster {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := "current-context: here\ncontexts: [{name: here, context: {cluster: c, user: u}}]\n" +
		"clusters: [{name: c, cluster: {server: " + server + "}}]\nusers: [{name: u, user: " + user + "}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Connect(Access{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestExplainTransport(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
	encrypted := httptest.NewTLSServer(http.HandlerFunc(refuse))
	t.Cleanup(encrypted.Close)
	plain := httptest.NewServer(http.HandlerFunc(refuse))
	t.Cleanup(plain.Close)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	t.Cleanup(page.Close)
	closed := httptest.NewTLSServer(http.HandlerFunc(refuse))
	closed.Close()
	// of 2001-09-09T01:46:40Z: {"exp":1000000000}
	token := "{token: e30.eyJleHAiOjEwMDAwMDAwMDB9.c2ln}"
	plugin := func(command string) string {
		return "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: '" + command + "', installHint: get it at example.com}}"
	}
	tests := []struct{ name, server, user, want, hint string }{
		{"nobody listens", closed.URL, "{}", "the API server at " + closed.URL + " cannot be reached: connection refused", "VPN"},
		{"no such host", "https://k8s.invalid", "{}", "the API server at https://k8s.invalid cannot be reached: lookup k8s.invalid", "VPN"},
		{"certificate of an unknown authority", encrypted.URL, "{}", "is not to be trusted: x509: certificate signed by unknown authority", "older cluster"},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), "{}", "does not speak TLS", "proxies"},
		{"a page", page.URL, "{}", "what answers at " + page.URL + " is no Kubernetes API server: invalid character '<'", "proxies"},
		{"expired token", encrypted.URL + ", insecure-skip-tls-verify: true", token, "does not accept the credentials of context \"here\": its token expired at 2001-09-09T01:46:40Z", "log in again"},
		{"plugin is missing", encrypted.URL, plugin("no-such-plugin"), "getting credentials from \"no-such-plugin\", which context \"here\" uses: executable no-such-plugin not found", "get it at example.com"},
		{"plugin fails", encrypted.URL, plugin("false"), "executable false failed with exit code 1", "run it by hand to see more, and log in again: false"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := connectTo(t, test.server, test.user)
			err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "any"}, &corev1.ConfigMap{})
			wantError(t, err, test.want, test.hint)
		})
	}
}

func TestExplainRights(t *testing.T) {
	lab := kubetest.New(t)
	guest := connectBy(t, lab, lab.User("guest"))
	err := guest.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(guest.Namespace))
	wantError(t, err, `user "guest" may not list configmaps in namespace "`+guest.Namespace+`"`,
		"kubectl auth can-i --list --context trainyard-test --namespace "+guest.Namespace)
	if !apierrors.IsForbidden(err) {
		t.Error("what the server said is lost")
	}
	err = guest.List(t.Context(), &corev1.NodeList{})
	wantError(t, err, `user "guest" may not list nodes in the whole cluster`, "kubectl auth can-i")

	late := connectBy(t, lab, lab.LateUser("late", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	err = late.List(t.Context(), &corev1.NodeList{})
	wantError(t, err, `does not accept the credentials of context "trainyard-test": its client certificate expired at 2026-01-01T00:00:00Z`, "")
}

func TestExplainQuota(t *testing.T) {
	c := newCluster(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "gpus", Namespace: c.Namespace}}
	quota.Spec.Hard = corev1.ResourceList{"requests.nvidia.com/gpu": resource.MustParse("2")}
	create(t, c, quota)
	pod := newPod(c, "greedy", nil)
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	var err error
	eventually(t, func() bool { // the quota's status comes from a controller
		err = c.Create(t.Context(), pod.DeepCopy(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "exceeded quota")
	})
	wantError(t, err, "exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=2", "kubectl describe quota")
}

func TestExplainNamespace(t *testing.T) {
	c := newCluster(t)
	nowhere := newSettings(c, "x", "1")
	nowhere.Namespace = "kube-test-nowhere"
	wantError(t, c.Create(t.Context(), nowhere), `there is no namespace "kube-test-nowhere"`, "kubectl create namespace kube-test-nowhere")

	held := newSettings(c, "held", "1")
	held.Finalizers = []string{"example.com/held"}
	create(t, c, held)
	if err := c.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Namespace}}); err != nil {
		t.Fatal(err)
	}
	defer release(t, c, held)
	wantError(t, c.Create(t.Context(), newSettings(c, "y", "1")), "the namespace is being deleted", "--namespace")
}

func TestExplainUnknownKind(t *testing.T) {
	c := newCluster(t)
	for group, want := range map[string]string{
		"ray.io":      "KubeRay is not installed",
		"example.com": "the cluster does not know ", // Thing.example.com or example.com/v1, as discovery ends
	} {
		thing := &unstructured.Unstructured{}
		thing.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("Thing"))
		thing.SetAPIVersion(group + "/v1")
		wantError(t, c.Get(t.Context(), client.ObjectKey{Namespace: c.Namespace, Name: "x"}, thing), want, "")
	}
}

// TestExplainPolicy lets a policy of the cluster deny, as a webhook would.
func TestExplainPolicy(t *testing.T) {
	c := newCluster(t)
	name := c.Namespace
	fail := admissionv1.Fail
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec = admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}}},
		},
		Validations: []admissionv1.Validation{{Expression: "false", Message: "nothing may be made on Fridays"}},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	binding.Spec = admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}
	create(t, c, policy)
	create(t, c, binding)
	defer func() { _ = c.Delete(t.Context(), binding); _ = c.Delete(t.Context(), policy) }()
	var err error
	eventually(t, func() bool { // the apiserver learns of policies by a watch
		err = c.Create(t.Context(), newSettings(c, "x", "1"), client.DryRunAll)
		return err != nil
	})
	wantError(t, err, "a policy of the cluster denies it: configmaps \"x\" is forbidden: ValidatingAdmissionPolicy '"+name+"'", "the policy is named above")
}

// release lets go of an object that a finalizer holds.
func release(t *testing.T, c *Cluster, obj client.Object) {
	t.Helper()
	err := c.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	if client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}

// eventually waits until the cluster has come to what holds in the end.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), kubetest.Patience)
	defer cancel()
	for !holds() {
		if err := wait.Sleep(ctx, 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}
