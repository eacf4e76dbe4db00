package kubernetes

import (
	"path/filepath"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/trainyard/trainyard/internal/kube"
)

// rules are what a Role in the namespace must allow for these purposes.
func rules(purposes ...Purpose) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, w := range wanted {
		if !w.wide && slices.Contains(purposes, w.purpose) {
			all = append(all, rbacv1.PolicyRule{APIGroups: []string{w.group}, Resources: []string{w.resource}, Verbs: strings.Fields(w.verbs)})
		}
	}
	return all
}

// byToken connects by a token of a service account, which may do what the rules
// say.
func (l lab) byToken(account *corev1.ServiceAccount, rules []rbacv1.PolicyRule) *kube.Cluster {
	l.Helper()
	meta := metav1.ObjectMeta{Name: account.Name, Namespace: l.Namespace}
	l.Make(&rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: l.Namespace}},
	})
	token := &authenticationv1.TokenRequest{}
	l.Must(l.SubResource("token").Create(l.Context(), account, token))
	config, err := clientcmd.LoadFromFile(l.Kubeconfig)
	l.Must(err)
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: token.Status.Token}
	}
	path := filepath.Join(l.TempDir(), account.Name)
	l.Must(clientcmd.WriteToFile(*config, path))
	return l.as(path)
}
