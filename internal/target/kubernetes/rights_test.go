package kubernetes

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// What preflight asks for is what is needed: with it all of a run's life works,
// and without one verb of it, the error names that verb.
func TestRightsThatAreNeeded(t *testing.T) {
	all := rules(ForTrain, ForWatch, ForDown)
	t.Run("all", func(t *testing.T) {
		l := newLab(t)
		l.room()
		l.Must(l.life(l.mayAll(all)))
	})
	for _, missing := range verbsOf(all) {
		if slices.Contains(dispensable, missing.String()) {
			continue
		}
		t.Run(missing.String(), func(t *testing.T) {
			l := newLab(t)
			if missing.String() != "watch pods" { // without room there is something to watch
				l.room()
			}
			err := l.life(l.mayAll(but(all, missing)))
			resource, sub, _ := strings.Cut(missing.Resource, "/")
			if missing.Group != "" {
				resource += "." + missing.Group
			}
			if sub != "" {
				resource += "/" + sub
			}
			want := "may not " + missing.Verb + " " + resource + ` in namespace "` + l.Namespace + `"`
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

// Without the rest a run works, and knows less.
func TestRightsThatAreDispensable(t *testing.T) {
	all := rules(ForTrain, ForWatch, ForDown)
	for _, p := range verbsOf(all) {
		if slices.Contains(dispensable, p.String()) {
			all = but(all, p)
		}
	}
	l := newLab(t)
	as := l.mayAll(all)
	up := l.raise(as)
	up.says("0 of 1 workers are ready; pod gpu-")
	l.room()
	up.ends("", "")
	l.Must(l.life(as))
}

// verbsOf are the permissions that rules give, one by one.
func verbsOf(rules []rbacv1.PolicyRule) []Permission {
	var all []Permission
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			all = append(all, Permission{Verb: verb, Group: rule.APIGroups[0], Resource: rule.Resources[0]})
		}
	}
	return all
}

// but returns the rules without one permission.
func but(rules []rbacv1.PolicyRule, p Permission) []rbacv1.PolicyRule {
	var rest []rbacv1.PolicyRule
	for _, rule := range rules {
		if rule.Resources[0] == p.Resource && rule.APIGroups[0] == p.Group {
			rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return verb == p.Verb })
		}
		if len(rule.Verbs) > 0 {
			rest = append(rest, rule)
		}
	}
	return rest
}

// dispensable is what a run can do without, and knows less.
var dispensable = []string{"watch rayclusters.ray.io", "get pods/log", "list events", "watch events"}

// mayAll connects as somebody who may do what the rules say, once the server knows
// that.
func (l lab) mayAll(rules []rbacv1.PolicyRule) *kube.Cluster {
	l.Helper()
	as, granted := l.as(l.User(l.Namespace, rules...)), 0
	for _, rule := range rules {
		granted += len(rule.Verbs)
	}
	l.Until("role that is in force", func() bool {
		allowed := 0
		for _, p := range (eye{as, Need{}}).permissions(l.Context()) {
			if p.Allowed {
				allowed++
			}
		}
		return allowed == granted
	})
	return as
}

// life is all that is done to a RayCluster, up to the first error.
func (l lab) life(as *kube.Cluster) error {
	order := Order{RayCluster: l.rayCluster(), Owner: me}
	made, err := as.Of(me).Apply(l.Context(), kube.Real, order.RayCluster)
	if err != nil {
		return err
	}
	if err := awaitPods(l.Context(), as, order, made[0].GetUID()); err != nil {
		return err
	}
	up, err := Open(l.Context(), as, me, "gpu")
	if err != nil {
		return err
	}
	defer up.tunnel.Close()
	request, err := http.NewRequestWithContext(l.Context(), http.MethodGet, up.Endpoint().Address, nil)
	if err != nil {
		return err
	}
	if answer, err := http.DefaultClient.Do(request); err == nil { // there is no Ray in the pod
		_ = answer.Body.Close()
	}
	if err := up.tunnel.Problem(); apierrors.IsForbidden(err) {
		return err
	}
	if _, err := StatusOf(l.Context(), as); err != nil {
		return err
	}
	return Delete(l.Context(), as, me, "gpu", nil)
}
