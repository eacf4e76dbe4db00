package kube

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/wait"
)

// source is where a reflector gets its objects from. How each call ended is noted
// on the way.
type source struct {
	c       *Cluster
	list    client.ObjectList
	options client.ListOptions
	refused *refusals
	note    func(error)
}

func (s source) listWatch() *cache.ListWatch {
	with := func(raw metav1.ListOptions) *client.ListOptions {
		o := s.options
		o.Raw = &raw
		return &o
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
			into := s.list.DeepCopyObject().(client.ObjectList)
			err := s.c.once(func() error { return s.c.raw.List(ctx, into, with(raw)) })
			s.note(err)
			return into, err
		},
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (stream watch.Interface, err error) {
			err = s.c.once(func() error {
				stream, err = s.c.raw.Watch(ctx, s.list, with(raw))
				return err
			})
			s.refused.allowed = s.refused.allowed || err == nil
			s.note(err)
			return stream, err
		},
	}
}

// reflect keeps a reflector going until ctx ends or the server refuses for good.
func (s source) reflect(ctx context.Context, reflector *cache.Reflector) error {
	for ctx.Err() == nil {
		err := reflector.ListAndWatchWithContext(ctx)
		if s.refused.final(err) || err != nil && !s.c.answered.Load() {
			return fmt.Errorf("watching pods: %w", bare(err))
		}
		if err != nil {
			s.note(bare(err))
		}
		_ = wait.Sleep(ctx, s.c.pause)
	}
	return ctx.Err()
}
