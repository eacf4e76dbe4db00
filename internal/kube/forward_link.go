package kube

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// A link is one connection by the API server to the kubelet of a pod, for any
// number of streams. It is closed when it was retired and nobody uses it.
type link struct {
	pod        string
	connection httpstream.Connection

	mu      sync.Mutex
	users   int
	retired bool
}

// dial connects to a pod, by WebSocket, or by SPDY where the API server, or a
// proxy before it, does not know the former.
func (c *Cluster) dial(ctx context.Context, pod *corev1.Pod) (*link, error) {
	dialer, err := c.dialer(pod)
	if err != nil {
		return nil, err
	}
	type result struct {
		connection httpstream.Connection
		err        error
	}
	dialed := make(chan result, 1)
	go func() { // the dialer knows no context
		connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		dialed <- result{connection, err}
	}()
	select {
	case r := <-dialed:
		if r.err != nil {
			return nil, c.Explain(refusal(r.err))
		}
		return &link{pod: pod.Name, connection: r.connection}, nil
	case <-ctx.Done():
		go func() {
			if r := <-dialed; r.err == nil {
				_ = r.connection.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// refusal returns the API server's answer to an upgrade as what it is: the
// dialers keep its text alone.
func refusal(err error) error {
	if denial.MatchString(err.Error()) {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: err.Error(),
		}}
	}
	return err
}

func (c *Cluster) dialer(pod *corev1.Pod) (httpstream.Dialer, error) {
	core, err := c.core()
	if err != nil {
		return nil, err
	}
	address := core.Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(c.Config)
	if err != nil {
		return nil, fmt.Errorf("preparing a connection: %w", err)
	}
	old := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)
	websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(address, c.Config)
	if err != nil {
		return nil, fmt.Errorf("preparing a connection: %w", err)
	}
	return portforward.NewFallbackDialerForStreaming(websocket, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// retain counts one more user; false means that the link is no longer good.
func (l *link) retain() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.connection.CloseChan():
		l.retired = true
	default:
	}
	if !l.retired {
		l.users++
	}
	return !l.retired
}

func (l *link) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	l.closeUnused()
}

// retire lets no more users in.
func (l *link) retire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retired = true
	l.closeUnused()
}

func (l *link) closeUnused() {
	if l.retired && l.users == 0 {
		l.close()
	}
}

func (l *link) close() { _ = l.connection.Close() }
