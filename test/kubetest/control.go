package kubetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Control posts to the interface of test/cluster, which package control there
// describes: /stop/apiserver, /restart/operator and so on. What was stopped runs again
// when the test has ended, however it does.
func (l *Lab) Control(path string) {
	l.Helper()
	verb, part, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if verb == "stop" || verb == "freeze" {
		l.Cleanup(func() { l.post("/start/"+part, nil) })
	}
	l.post(path, nil)
}

// User returns the path of a kubeconfig for somebody who may do what the rules
// say in the test's namespace, and nothing else.
func (l *Lab) User(name string, rules ...rbacv1.PolicyRule) string {
	l.Helper()
	meta := metav1.ObjectMeta{Name: name, Namespace: l.Namespace}
	l.Make(
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: name}},
		},
	)
	return l.kubeconfig(user{Name: name, Namespace: l.Namespace})
}

// LateUser returns the path of a kubeconfig whose credentials have expired.
func (l *Lab) LateUser(name string, notAfter time.Time) string {
	l.Helper()
	return l.kubeconfig(user{Name: name, Namespace: l.Namespace, NotAfter: notAfter})
}

// user is what package control makes a kubeconfig of.
type user struct {
	Name      string
	Namespace string
	NotAfter  time.Time
}

func (l *Lab) kubeconfig(u user) string {
	l.Helper()
	path := filepath.Join(l.TempDir(), u.Name)
	l.Must(os.WriteFile(path, l.post("/users", u), 0o600))
	return path
}

func (l *Lab) addNodes(template *corev1.Node, count int) {
	l.Helper()
	path := "/nodes"
	if count > 0 {
		path += fmt.Sprintf("?count=%d", count)
	}
	l.post(path, template)
}

// post returns the answer to a call with a body in JSON.
func (l *Lab) post(path string, body any) []byte {
	l.Helper()
	content, err := json.Marshal(body)
	l.Must(err)
	request, err := http.NewRequestWithContext(l.after(), http.MethodPost, l.control+path, bytes.NewReader(content))
	l.Must(err)
	response, err := http.DefaultClient.Do(request)
	l.Must(err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	l.Must(err)
	if response.StatusCode >= http.StatusBadRequest {
		l.Fatalf("POST %s: %s: %s", path, response.Status, answer)
	}
	return answer
}
