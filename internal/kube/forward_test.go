package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/kubetest"
)

// rayPort is the port of the fake pods' server.
const rayPort = 8265

// serving lets a port of a fake pod lead to a server that says its name.
func serving(t *testing.T, c *Cluster, pod string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "I am ", pod) }))
	t.Cleanup(server.Close)
	leading(t, c, pod, server.Listener.Addr())
}

// leading lets a port of a fake pod lead to an address of this machine.
func leading(t *testing.T, c *Cluster, pod string, to net.Addr) {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "PortForward",
		"metadata": map[string]any{"name": pod, "namespace": c.Namespace},
		"spec": map[string]any{"forwards": []any{map[string]any{
			"ports":  []any{int64(rayPort)},
			"target": map[string]any{"address": "127.0.0.1", "port": int64(to.(*net.TCPAddr).Port)},
		}}},
	}}
	create(t, c, u)
}

// running makes a pod and waits until it runs.
func running(t *testing.T, c *Cluster, name string) *corev1.Pod {
	t.Helper()
	pod := newPod(c, name, nil)
	create(t, c, pod)
	eventually(t, func() bool {
		return c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod) == nil && pod.Status.Phase == corev1.PodRunning
	})
	return pod
}

// page asks a tunnel for its page over a new connection.
func page(ctx context.Context, tunnel *Tunnel) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+tunnel.Address(), nil)
	if err != nil {
		return "", err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// wantPage asks until the tunnel leads to a pod; what a fault cut is lost.
func wantPage(t *testing.T, tunnel *Tunnel, pod string) {
	t.Helper()
	eventually(t, func() bool {
		text, err := page(t.Context(), tunnel)
		return err == nil && text == "I am "+pod
	})
	if err := tunnel.Problem(); err != nil {
		t.Errorf("it works, and still there is a problem: %v", err)
	}
}

func TestForward(t *testing.T) {
	lab := kubetest.New(t)
	lab.Nodes(corev1.Node{}, 0)
	c := connect(t, lab)
	pod := running(t, c, "head-1")
	serving(t, c, "head-1")
	tunnel, err := c.Forward(t.Context(), func(context.Context) (*corev1.Pod, error) { return pod, nil }, rayPort)
	if err != nil {
		t.Fatal(err)
	}
	if host, _, _ := net.SplitHostPort(tunnel.Address()); !net.ParseIP(host).IsLoopback() {
		t.Errorf("listens at %s", tunnel.Address())
	}
	wantPage(t, tunnel, "head-1")
	t.Run("many at once", func(t *testing.T) {
		for range 20 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				wantPage(t, tunnel, "head-1")
			})
		}
	})

	// Another pod takes its place.
	other := running(t, c, "head-2")
	serving(t, c, "head-2")
	if err := c.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	pod = other
	tunnel.drop(tunnel.present()) // as when the kubelet ends the connection, which kwok does not
	wantPage(t, tunnel, "head-2")

	lab.Control("/restart/apiserver")
	wantPage(t, tunnel, "head-2")

	if err := errors.Join(tunnel.Close(), tunnel.Close()); err != nil {
		t.Error(err)
	}
	if _, err := page(t.Context(), tunnel); err == nil {
		t.Error("a closed tunnel answers")
	}
}

// TestForwardStreams holds a connection open both ways, and ends it with the
// tunnel.
func TestForwardStreams(t *testing.T) {
	lab := kubetest.New(t)
	lab.Nodes(corev1.Node{}, 0)
	c := connect(t, lab)
	pod := running(t, c, "head")
	echo, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); _, _ = io.Copy(conn, conn) }()
		}
	}()
	leading(t, c, "head", echo.Addr())
	tunnel, err := c.Forward(t.Context(), func(context.Context) (*corev1.Pod, error) { return pod, nil }, rayPort)
	if err != nil {
		t.Fatal(err)
	}
	defer tunnel.Close()
	var conn net.Conn
	eventually(t, func() bool { // kwok learns of where the port leads
		conn, err = (&net.Dialer{}).DialContext(t.Context(), "tcp4", tunnel.Address())
		if err != nil {
			return false
		}
		return said(conn, "hello") == nil
	})
	for i := range 100 {
		if err := said(conn, strings.Repeat(fmt.Sprint(i), 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tunnel.Close(); err != nil {
		t.Error(err)
	}
	if err := said(conn, "more"); err == nil {
		t.Error("the connection outlives the tunnel")
	}
}

// said sends a text and wants it back.
func said(conn net.Conn, text string) error {
	if _, err := io.WriteString(conn, text); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if string(got) != text {
		return fmt.Errorf("got %q", got)
	}
	return nil
}

func TestForwardProblems(t *testing.T) {
	lab := kubetest.New(t)
	lab.Nodes(corev1.Node{}, 0)
	c := connect(t, lab)
	pod := running(t, c, "head")
	// A port at which nobody listens.
	closed := httptest.NewServer(http.NotFoundHandler())
	leading(t, c, "head", closed.Listener.Addr())
	closed.Close()
	guest := connectBy(t, lab, lab.User("guest"))
	tests := []struct {
		name string
		as   *Cluster
		find func(context.Context) (*corev1.Pod, error)
		want string
	}{
		{"no pod", c, func(context.Context) (*corev1.Pod, error) { return nil, errors.New("no head yet") }, "looking for the pod to forward to: no head yet"},
		{"nobody listens", c, func(context.Context) (*corev1.Pod, error) { return pod, nil }, "forwarding to port 8265 of pod head: "},
		{"forbidden", guest, func(context.Context) (*corev1.Pod, error) { return pod, nil }, `user "guest" may not create pods/portforward in namespace "` + c.Namespace + `"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tunnel, err := test.as.Forward(t.Context(), test.find, rayPort)
			if err != nil {
				t.Fatal(err)
			}
			defer tunnel.Close()
			ctx, cancel := context.WithCancel(t.Context())
			asked := make(chan struct{})
			go func() {
				defer close(asked)
				for ctx.Err() == nil {
					if _, err := page(ctx, tunnel); err == nil {
						t.Error("an answer from nowhere")
						return
					}
				}
			}()
			eventually(t, func() bool { err = tunnel.Problem(); return err != nil })
			cancel()
			t.Log(err)
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("problem %v, want %q", err, test.want)
			}
			<-asked
		})
	}
}
