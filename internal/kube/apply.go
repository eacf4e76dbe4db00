package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/wait"
)

// goingTimeout is how long an object of the same name that is being deleted may
// take to go.
const goingTimeout = 5 * time.Minute

// A DryRun says how far an Apply goes.
type DryRun int

// Kinds of DryRun.
const (
	Real   DryRun = iota // objects are made and changed
	Server               // the server checks, defaults and admits, and keeps nothing
)

// Apply makes objects, or changes those that are the owner's, by server-side
// apply, in the order given, and returns them as they then are. Those without a
// namespace go into the cluster's. Where any name is taken by an object that is not
// the owner's nothing is written, and the error names all of them. Where somebody
// takes a name meanwhile, that object stays theirs. One of the owner's that is being
// deleted is waited for.
//
// It may be repeated, and goes on where a call before it was interrupted.
func (o Ours) Apply(ctx context.Context, mode DryRun, objects ...client.Object) ([]*unstructured.Unstructured, error) {
	wanted, err := o.wanted(objects)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, u := range wanted {
		if _, err := o.ours(ctx, u); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	for _, u := range wanted {
		if err := o.apply(ctx, u, mode); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

// wanted returns objects as they are applied.
func (o Ours) wanted(objects []client.Object) ([]*unstructured.Unstructured, error) {
	var wanted []*unstructured.Unstructured
	for _, obj := range objects {
		u, err := o.c.Object(obj, o.owner)
		if err == nil {
			err = o.c.placed(u)
		}
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, u)
	}
	return wanted, nil
}

// ours returns the object of this name, nil where there is none, and an error
// where it is not the owner's.
func (o Ours) ours(ctx context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	found, err := o.live(ctx, like)
	if err != nil || found == nil {
		return nil, err
	}
	return found, o.owner.check(found)
}

// live reads an object as it is in the cluster; nil where there is none.
func (o Ours) live(ctx context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(like.GroupVersionKind())
	err := o.c.Get(ctx, client.ObjectKeyFromObject(like), found)
	switch {
	case err == nil:
		return found, nil
	case client.IgnoreNotFound(err) == nil:
		return nil, nil
	default:
		return nil, fmt.Errorf("reading %s: %w", Title(like), err)
	}
}

// awaitGoing returns what there is of this name once that is not being deleted;
// nil where there is nothing.
func (o Ours) awaitGoing(ctx context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var found *unstructured.Unstructured
	err := wait.For(ctx, wait.Options{Interval: o.c.pause, Timeout: goingTimeout}, func(ctx context.Context) (done bool, state string, err error) {
		found, err = o.ours(ctx, like)
		if err != nil || found == nil || found.GetDeletionTimestamp() == nil {
			return true, "", err
		}
		return false, o.held(ctx, found), nil
	})
	if wait.IsTimeout(err) {
		return nil, fmt.Errorf("waiting for %s of before to go: %w", Title(like), err)
	}
	return found, err
}

// races is how often in a row others may be quicker with an object.
const races = 5

// apply sends one object and replaces it with the server's answer. Whose the name
// is, is asked again where another object has it since that was asked last.
func (o Ours) apply(ctx context.Context, u *unstructured.Unstructured, mode DryRun) (err error) {
	options := []client.ApplyOption{client.FieldOwner(Manager)}
	look := o.awaitGoing
	if mode == Server {
		options, look = append(options, client.DryRunAll), o.ours
	}
	for range races {
		found, looked := look(ctx, u)
		if looked != nil {
			return looked
		}
		pin(u, found)
		err = o.c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), options...)
		if !isAnother(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("applying %s: %w", Title(u), err)
	}
	return nil
}

// pin lets an object be applied to the one that was found, or where none was to
// none: all of us have the same field manager, so that the server would let one of
// us change what another has just made.
func pin(u, found *unstructured.Unstructured) {
	if found == nil {
		u.SetUID("")
		u.SetResourceVersion(noVersion)
		return
	}
	u.SetUID(found.GetUID())
	u.SetResourceVersion("")
}

// noVersion is the resource version of no object. Who applies one may change that
// version alone, or make the object. Versions are revisions of an etcd, which begins
// with 1 and counts its first write as 2.
const noVersion = "1"

// isAnother says whether the server refused because the object is not the one that
// was looked at: it is there or it is gone, which is a conflict, though no other
// manager's, or it has been made anew, for which its identifier must not change.
func isAnother(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	return apierrors.IsConflict(err) && !hasCause(s, metav1.CauseTypeFieldManagerConflict) ||
		apierrors.IsInvalid(err) && s.Details != nil && slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}
