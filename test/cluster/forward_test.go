package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
)

// checkForward lets a port of a fake pod lead to a server of this test, and
// reaches it as any client of Kubernetes would: through the apiserver.
func checkForward(t *testing.T, config *rest.Config, pod string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}))
	defer server.Close()
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "PortForward",
		"metadata": metav1.ObjectMeta{Name: pod},
		"spec": map[string]any{"forwards": []any{map[string]any{
			"ports":  []int{8265},
			"target": map[string]any{"address": "127.0.0.1", "port": server.Listener.Addr().(*net.TCPAddr).Port},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = kube.RESTClient().Post().AbsPath("/apis/kwok.x-k8s.io/v1alpha1/namespaces/default/portforwards").
		Body(body).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) string {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		address, err := forward(ctx, config, kube, pod)
		if err == nil {
			err = hello(ctx, address)
		}
		return text(err)
	})
}

// forward leads a port of this machine to port 8265 of a pod, for as long as ctx
// lives, and returns its URL.
func forward(ctx context.Context, config *rest.Config, kube *kubernetes.Clientset, pod string) (string, error) {
	address := kube.CoreV1().RESTClient().Get().Namespace("default").Resource("pods").Name(pod).SubResource("portforward").URL()
	dialer, err := portforward.NewSPDYOverWebsocketDialer(address, config)
	if err != nil {
		return "", err
	}
	ready := make(chan struct{})
	forwarder, err := portforward.New(dialer, []string{"0:8265"}, ctx.Done(), ready, io.Discard, io.Discard)
	if err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		return "", fmt.Errorf("forwarding: %w", err)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", ports[0].Local)}).String(), nil
}

func hello(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err == nil && string(page) != "hello" {
		err = fmt.Errorf("got %s %q", response.Status, page)
	}
	return err
}
