package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trainyard/trainyard/internal/wait"
)

// connectPatience is how long a local connection waits for its pod to be
// reachable, before it is closed: a client that asks again after that learns
// from Tunnel.Problem what is the matter.
const connectPatience = 20 * time.Second

// A Tunnel leads from a port on this machine's loopback to a port of a pod.
type Tunnel struct {
	cluster  *Cluster
	find     func(context.Context) (*corev1.Pod, error)
	port     int
	listener net.Listener
	cancel   context.CancelFunc
	group    sync.WaitGroup // what goes on for it

	dialing sync.Mutex // one connects, the others wait for it

	mu      sync.Mutex
	link    *link // to the pod; nil until the first connection, and after a fault
	problem error
	next    int // number of the next stream
}

// Forward listens on a free port of 127.0.0.1 and leads each connection to a
// port of the pod that find returns, by the API server. find is asked again
// whenever the way to its last answer is lost: a pod that was replaced, or an API
// server that restarted, costs the connections of that moment and no later ones.
//
// It does not wait for the pod, which may come later. With ctx the tunnel takes no
// more connections, and those that there are end; only Close gives up the way to the
// pod as well.
func (c *Cluster) Forward(ctx context.Context, find func(context.Context) (*corev1.Pod, error), port int) (*Tunnel, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for what is forwarded: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	t := &Tunnel{cluster: c, find: find, port: port, listener: listener, cancel: cancel}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	t.group.Go(func() { t.accept(ctx) })
	return t, nil
}

// Address is where the tunnel begins, such as 127.0.0.1:41235.
func (t *Tunnel) Address() string { return t.listener.Addr().String() }

// Problem is why the last connection did not reach the pod, or nil.
func (t *Tunnel) Problem() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.problem
}

// Close ends the tunnel and its connections, and waits for that. It may be
// called again.
func (t *Tunnel) Close() error {
	t.cancel()
	err := t.listener.Close()
	t.group.Wait()
	if l := t.present(); l != nil {
		l.close()
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (t *Tunnel) accept(ctx context.Context) {
	for {
		local, err := t.listener.Accept()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // such as too many open files: it passes
			t.told(fmt.Errorf("accepting a connection: %w", err))
			if wait.Sleep(ctx, time.Second/10) != nil {
				return
			}
			continue
		}
		t.group.Go(func() {
			defer local.Close()
			defer context.AfterFunc(ctx, func() { _ = local.Close() })()
			if err := t.serve(ctx, local); ctx.Err() == nil {
				t.told(err)
			}
		})
	}
}

// told remembers how the last connection went.
func (t *Tunnel) told(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problem = err
}

// serve leads one connection to the pod, until either end closes.
func (t *Tunnel) serve(ctx context.Context, local net.Conn) error {
	link, stream, err := t.open(ctx)
	if err != nil {
		return err
	}
	t.told(nil)
	err = stream.carry(ctx, local)
	link.release()
	if err != nil { // the pod's port does not answer, or the pod is not what it was
		t.drop(link)
		return fmt.Errorf("forwarding to port %d of pod %s: %w", t.port, link.pod, err)
	}
	return nil
}

// open returns a stream to the pod, over the link there is or a new one. It
// tries again while the pod is on its way.
func (t *Tunnel) open(ctx context.Context) (l *link, s *stream, err error) {
	var last error
	err = wait.For(ctx, wait.Options{Interval: t.cluster.pause, Timeout: connectPatience}, func(ctx context.Context) (bool, string, error) {
		if l, last = t.linked(ctx); last == nil {
			if s, last = l.stream(t.port, t.number()); last == nil {
				return true, "", nil
			}
			l.release()
			t.drop(l)
		}
		t.told(last)
		if apierrors.IsForbidden(last) || apierrors.IsUnauthorized(last) {
			return false, "", last
		}
		return false, "", nil
	})
	if err != nil && last != nil && ctx.Err() == nil {
		err = last
	}
	return l, s, err
}

// linked returns the link with one more user, after connecting where there is
// none.
func (t *Tunnel) linked(ctx context.Context) (*link, error) {
	t.dialing.Lock()
	defer t.dialing.Unlock()
	if l := t.present(); l != nil && l.retain() {
		return l, nil
	}
	pod, err := t.find(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for the pod to forward to: %w", err)
	}
	l, err := t.cluster.dial(ctx, pod)
	if err != nil {
		return nil, fmt.Errorf("connecting to pod %s: %w", pod.Name, err)
	}
	l.retain()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.link = l
	return l, nil
}

func (t *Tunnel) present() *link {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.link
}

// drop sees to it that a link is not used again; those who use it may end.
func (t *Tunnel) drop(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.link == l {
		t.link = nil
	}
	l.retire()
}

func (t *Tunnel) number() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	return strconv.Itoa(t.next)
}
