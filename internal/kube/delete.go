package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/wait"
)

// Delete deletes objects that are the owner's, and waits until they are gone
// together with what belongs to them (a RayCluster with its pods). What does not
// exist is gone. One that is not the owner's is left alone and is an error, which
// does not keep the others.
//
// timeout bounds the wait, 0 does not; running out of it says what holds the
// objects back. waiting, if not nil, is told the same whenever it changes.
func (o Ours) Delete(ctx context.Context, timeout time.Duration, waiting func(string), objects ...client.Object) error {
	var going []*unstructured.Unstructured
	var problems []error
	for _, obj := range objects {
		u, err := o.deleteOne(ctx, obj)
		problems = append(problems, err)
		if u != nil {
			going = append(going, u)
		}
	}
	problems = append(problems, o.awaitGone(ctx, timeout, waiting, going))
	return errors.Join(problems...)
}

// deleteOne asks the server to delete an object and returns it; nil where it is
// gone, or not the owner's.
func (o Ours) deleteOne(ctx context.Context, obj client.Object) (*unstructured.Unstructured, error) {
	u, err := o.c.Object(obj, o.owner)
	if err != nil {
		return nil, err
	}
	if err := o.c.placed(u); err != nil {
		return nil, notInstalled(err)
	}
	found, err := o.ours(ctx, u)
	if err = notInstalled(err); err != nil {
		return nil, fmt.Errorf("deleting: %w", err)
	}
	if found == nil {
		return nil, nil
	}
	uid := found.GetUID() // what we looked at, and no other of that name
	err = o.c.Delete(ctx, found, client.Preconditions{UID: &uid}, propagation(found))
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("deleting %s: %w", Title(found), err)
	}
	return found, nil
}

// Exists tells whether an object is there. It is an error where that is not the
// owner's.
func (o Ours) Exists(ctx context.Context, object client.Object) (bool, error) {
	u, err := o.c.Object(object, o.owner)
	if err != nil {
		return false, err
	}
	found, err := o.ours(ctx, u)
	return found != nil, notInstalled(err)
}

// propagation lets an object that makes others wait for them. Those of the core
// group, such as ConfigMaps, make none, and would wait for the garbage collector.
func propagation(u *unstructured.Unstructured) client.PropagationPolicy {
	if u.GroupVersionKind().Group == "" {
		return client.PropagationPolicy(metav1.DeletePropagationBackground)
	}
	return client.PropagationPolicy(metav1.DeletePropagationForeground)
}

// notInstalled drops the error that says that there are no objects of a kind,
// for the kind is not installed.
func notInstalled(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// awaitGone returns once none of the objects exists any more.
func (o Ours) awaitGone(ctx context.Context, timeout time.Duration, waiting func(string), going []*unstructured.Unstructured) error {
	last := ""
	err := wait.For(ctx, wait.Options{Interval: o.c.pause, Timeout: timeout}, func(ctx context.Context) (bool, string, error) {
		var left []string
		for _, u := range going {
			found, err := o.live(ctx, u)
			if err != nil {
				return false, "", err
			}
			if found != nil && found.GetUID() == u.GetUID() {
				left = append(left, o.held(ctx, found))
			}
		}
		state := strings.Join(left, "; ")
		if waiting != nil && state != "" && state != last {
			waiting(state)
		}
		last = state
		return len(left) == 0, state, nil
	})
	if wait.IsTimeout(err) {
		return fmt.Errorf("waiting until all is gone: %w", fault.WithHint("look at what is named there; the same command goes on where this one stopped", err))
	}
	return err
}

// held says what keeps a deleted object from going.
func (o Ours) held(ctx context.Context, u *unstructured.Unstructured) string {
	title, finalizers := Title(u), u.GetFinalizers()
	if u.GetDeletionTimestamp() == nil {
		return title + " is not yet being deleted"
	}
	if i := slices.Index(finalizers, metav1.FinalizerDeleteDependents); i >= 0 {
		if pods := o.leftPods(ctx, u.GetNamespace()); pods != "" {
			return title + " waits for " + pods
		}
		finalizers = slices.Delete(finalizers, i, i+1) // the garbage collector is at it
	}
	if len(finalizers) > 0 {
		return title + " is held by finalizer " + strings.Join(finalizers, ", ")
	}
	return title + " is going"
}

// leftPods names the pods of an owner that are still there, and the nodes that
// have yet to end them, or the finalizers.
func (o Ours) leftPods(ctx context.Context, namespace string) string {
	const shown = 3
	var pods corev1.PodList
	if o.owner.Cluster == "" || o.c.List(ctx, &pods, client.InNamespace(namespace), o.owner.Selector(), client.Limit(shown+1)) != nil {
		return "" // it is only what we would say more
	}
	var names []string
	for i, pod := range pods.Items {
		if i == shown {
			names = append(names, "others")
			break
		}
		name := "pod " + pod.Name
		if pod.Spec.NodeName != "" {
			name += " on node " + pod.Spec.NodeName
		}
		if len(pod.Finalizers) > 0 {
			name += ", held by finalizer " + strings.Join(pod.Finalizers, ", ")
		}
		names = append(names, name)
	}
	return strings.Join(names, " and ")
}
