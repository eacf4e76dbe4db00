package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainyard/trainyard/internal/wait"
)

// patience is how long a call is tried again while the API server restarts or
// is overloaded. A control plane that is upgraded is away for less.
const patience = 2 * time.Minute

// try calls until it works, or fails for a reason that waiting does not heal,
// and explains the error. A server that was never there is not waited for.
func (c *Cluster) try(ctx context.Context, call func() error) error {
	last := c.once(call)
	if apierrors.IsUnauthorized(last) && c.Config.ExecProvider != nil {
		last = c.once(call) // client-go drops a stale token with the first refusal
	}
	first := true
	err := wait.For(ctx, wait.Options{Interval: c.pause, Timeout: c.patience}, func(context.Context) (bool, string, error) {
		if !first {
			last = c.once(call)
		}
		first = false
		if last != nil && passing(last) && c.answered.Load() {
			return false, "", nil
		}
		return true, "", last
	})
	if wait.IsTimeout(err) {
		return fmt.Errorf("%w (tried for %s)", last, c.patience)
	}
	return err
}

// once calls, remembers whether the server has ever answered, and explains the
// error.
func (c *Cluster) once(call func() error) error {
	err := call()
	if status := apierrors.APIStatus(nil); err == nil || errors.As(err, &status) {
		c.answered.Store(true)
	}
	return c.Explain(err)
}

// passing says whether err is one of a server that restarts or has too much to
// do. What cannot be resolved or trusted is not.
func passing(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable || code == http.StatusGatewayTimeout ||
			apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
	}
	var network net.Error
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		(errors.As(err, &network) && network.Timeout() && !errors.Is(err, context.DeadlineExceeded))
}

// patient returns inner with each error explained, so that no caller forgets
// it, and with each call that may be repeated tried again as [Cluster.try] does.
// Create and Watch may not: of the first the answer may be lost, and the second
// has Cluster.Watch.
func (c *Cluster) patient(inner client.WithWatch) client.WithWatch {
	return interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return c.try(ctx, func() error { return inner.Get(ctx, key, obj, opts...) })
		},
		List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return c.try(ctx, func() error { return inner.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, inner client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return c.once(func() error { return inner.Create(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, inner client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return c.try(ctx, func() error { return inner.Delete(ctx, obj, opts...) })
		},
		DeleteAllOf: func(ctx context.Context, inner client.WithWatch, obj client.Object, opts ...client.DeleteAllOfOption) error {
			return c.try(ctx, func() error { return inner.DeleteAllOf(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, inner client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return c.try(ctx, func() error { return inner.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, inner client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return c.try(ctx, func() error { return inner.Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, inner client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return c.try(ctx, func() error { return inner.Apply(ctx, obj, opts...) })
		},
		Watch: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, opts ...client.ListOption) (w watch.Interface, err error) {
			err = c.once(func() error {
				w, err = inner.Watch(ctx, list, opts...)
				return err
			})
			return w, err
		},
		SubResourceGet: func(ctx context.Context, inner client.Client, name string, obj, sub client.Object, opts ...client.SubResourceGetOption) error {
			return c.try(ctx, func() error { return inner.SubResource(name).Get(ctx, obj, sub, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, inner client.Client, name string, obj, sub client.Object, opts ...client.SubResourceCreateOption) error {
			return c.once(func() error { return inner.SubResource(name).Create(ctx, obj, sub, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, inner client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			return c.try(ctx, func() error { return inner.SubResource(name).Update(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, inner client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return c.try(ctx, func() error { return inner.SubResource(name).Patch(ctx, obj, patch, opts...) })
		},
	})
}
