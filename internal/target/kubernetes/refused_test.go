package kubernetes

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The RayCluster is there, its pods are refused, and waiting does not help.
func TestWaitForPodsThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		name, says, hint string
		refuse           func(l lab) client.Object
	}{
		{
			"quota that is too small", "exceeded quota: ", "larger quota",
			func(l lab) client.Object { return l.quota("0") },
		},
		{
			"limits", "maximum cpu usage per Container is 1, but limit is 2", "",
			func(l lab) client.Object {
				return &corev1.LimitRange{ObjectMeta: l.meta(), Spec: corev1.LimitRangeSpec{
					Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: resources("cpu", "1")}},
				}}
			},
		},
		{
			"webhook", `admission webhook "pods.example.com" denied the request: no Ray on Mondays`, "",
			func(l lab) client.Object { return l.webhook() },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			l.room()
			l.Make(test.refuse(l))
			l.untilRefused()
			l.raise(l.admin).ends(test.says, test.hint)
		})
	}
}

// A quota that others use up is waited for.
func TestWaitForQuota(t *testing.T) {
	l := newLab(t)
	l.room()
	taker := l.worker("taker")
	taker.Spec.NodeSelector = map[string]string{"test": "none"}
	// The quota first: what is there before it is counted when the controller has
	// seen it, which may take it five minutes.
	l.Make(l.quota("1"))
	l.Until("room in the quota", func() bool { return l.refused() == nil })
	l.Make(taker)
	l.untilRefused()
	up := l.raise(l.admin)
	up.says("exceeded quota: ")
	l.Must(l.Delete(t.Context(), taker, client.GracePeriodSeconds(0)))
	up.ends("", "")
}

func (l lab) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: l.Namespace, Namespace: l.Namespace}
}

func (l lab) quota(gpus string) client.Object {
	return &corev1.ResourceQuota{ObjectMeta: l.meta(), Spec: corev1.ResourceQuotaSpec{Hard: resources("requests.nvidia.com/gpu", gpus)}}
}

// worker is a pod as KubeRay makes it.
func (l lab) worker(name string) *corev1.Pod {
	template := l.rayCluster().Spec.WorkerGroupSpecs[0].Template
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: l.Namespace}, Spec: template.Spec}
}

// refused says why a worker's pod may not be made now.
func (l lab) refused() error { return l.Create(l.Context(), l.worker("probe"), client.DryRunAll) }

func (l lab) untilRefused() {
	l.Helper()
	l.Until("refusal", func() bool { return l.refused() != nil })
}

// webhook denies all pods in the test's namespace.
func (l lab) webhook() client.Object {
	server := httptest.NewTLSServer(http.HandlerFunc(deny))
	l.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: l.Namespace},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name:                    "pods.example.com",
			ClientConfig:            registrationv1.WebhookClientConfig{URL: &server.URL, CABundle: authority},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: l.Namespace}},
			SideEffects:             ptr.To(registrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.Create},
				Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
}

func deny(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "no Ray on Mondays"}}
	_ = json.NewEncoder(w).Encode(review)
}
