package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
)

// A stream is one connection to a port of a pod: its bytes, and what the kubelet
// says about it.
type stream struct {
	connection  httpstream.Connection
	data, fault httpstream.Stream
	said        chan string // what came by fault, once it ends
}

// stream opens one; number tells it from others of the link.
func (l *link) stream(port int, number string) (*stream, error) {
	faults, err := l.connection.CreateStream(header(corev1.StreamTypeError, port, number))
	if err != nil {
		return nil, fmt.Errorf("opening a stream to pod %s: %w", l.pod, err)
	}
	_ = faults.Close() // our half: we only read
	data, err := l.connection.CreateStream(header(corev1.StreamTypeData, port, number))
	if err != nil {
		l.connection.RemoveStreams(faults)
		return nil, fmt.Errorf("opening a stream to pod %s: %w", l.pod, err)
	}
	s := &stream{l.connection, data, faults, make(chan string, 1)}
	go func() {
		text, err := io.ReadAll(faults)
		if err != nil {
			text = []byte(err.Error())
		}
		s.said <- strings.TrimSpace(string(text))
	}()
	return s, nil
}

// end returns what the kubelet said went wrong.
func (s *stream) end(ctx context.Context) error {
	defer s.connection.RemoveStreams(s.data, s.fault)
	select {
	case text := <-s.said:
		if text != "" {
			return errors.New(text)
		}
		return nil
	case <-s.connection.CloseChan():
		return errors.New("the connection to it was lost")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// carry copies both ways until one end closes, and returns what the kubelet
// says went wrong.
func (s *stream) carry(ctx context.Context, local net.Conn) error {
	fromPod, toPod := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(fromPod)
		_, _ = io.Copy(local, s.data)
		if half, ok := local.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
	}()
	go func() {
		_, err := io.Copy(s.data, local)
		_ = s.data.Close() // half: the answer may still come
		toPod <- err
	}()
	select {
	case <-fromPod:
	case err := <-toPod:
		if err == nil {
			select {
			case <-fromPod:
			case <-ctx.Done():
			}
		}
	}
	_ = s.data.Reset() // else what is unsent holds the link up
	return s.end(ctx)
}

// header returns the headers of a stream for port forwarding.
func header(kind string, port int, number string) http.Header {
	h := http.Header{}
	h.Set(corev1.StreamType, kind)
	h.Set(corev1.PortHeader, strconv.Itoa(port))
	h.Set(corev1.PortForwardRequestIDHeader, number)
	return h
}
