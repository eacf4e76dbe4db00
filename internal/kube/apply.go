package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

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
	Client               // nothing is sent
)

// Apply makes objects, or changes those that are the owner's, by server-side
// apply, in the order given, and returns them as they then are. Those without a
// namespace go into the cluster's. Where any name is taken by an object that is not the
// owner's nothing is written, and the error names all of them. One of the
// owner's that is being deleted is waited for.
//
// It may be repeated, and goes on where a call before it was interrupted.
func (o Ours) Apply(ctx context.Context, mode DryRun, objects ...client.Object) ([]*unstructured.Unstructured, error) {
	wanted, err := o.wanted(mode, objects)
	if err != nil || mode == Client {
		return wanted, err
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
		if mode == Real {
			if err := o.awaitGoing(ctx, u); err != nil {
				return nil, err
			}
		}
		if err := o.apply(ctx, u, mode); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

// wanted returns objects as they are applied.
func (o Ours) wanted(mode DryRun, objects []client.Object) ([]*unstructured.Unstructured, error) {
	var wanted []*unstructured.Unstructured
	for _, obj := range objects {
		u, err := o.c.Object(obj, o.owner)
		if err == nil && mode != Client {
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

// awaitGoing returns once no object of this name is being deleted.
func (o Ours) awaitGoing(ctx context.Context, like *unstructured.Unstructured) error {
	err := wait.For(ctx, wait.Options{Interval: o.c.pause, Timeout: goingTimeout}, func(ctx context.Context) (bool, string, error) {
		found, err := o.ours(ctx, like)
		if err != nil || found == nil || found.GetDeletionTimestamp() == nil {
			return true, "", err
		}
		return false, o.held(ctx, found), nil
	})
	if wait.IsTimeout(err) {
		return fmt.Errorf("waiting for %s of before to go: %w", Title(like), err)
	}
	return err
}

// apply sends one object and replaces it with the server's answer.
func (o Ours) apply(ctx context.Context, u *unstructured.Unstructured, mode DryRun) error {
	title := Title(u)
	options := []client.ApplyOption{client.FieldOwner(Manager)}
	if mode == Server {
		options = append(options, client.DryRunAll)
	}
	if err := o.c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), options...); err != nil {
		return fmt.Errorf("applying %s: %w", title, err)
	}
	return nil
}

// Diff returns what Apply would change, as the server sees it: a unified diff
// of YAML for each object that would be new or different, without what only the
// server sets; "" where nothing would change. Like Apply it refuses objects that
// are not the owner's.
func (o Ours) Diff(ctx context.Context, objects ...client.Object) (string, error) {
	after, err := o.Apply(ctx, Server, objects...)
	if err != nil {
		return "", err
	}
	text := ""
	for _, u := range after {
		before, err := o.live(ctx, u)
		if err != nil {
			return "", err
		}
		old, err := readable(before)
		if err != nil {
			return "", err
		}
		changed, err := readable(u)
		if err != nil {
			return "", err
		}
		name := u.GetKind() + "/" + u.GetName()
		text += string(diff.Diff("live "+name, old, "new "+name, changed))
	}
	return text, nil
}

// readable returns an object as YAML without what only the server sets; nothing
// for nil.
func readable(u *unstructured.Unstructured) ([]byte, error) {
	if u == nil {
		return nil, nil
	}
	u = u.DeepCopy()
	serverless(u)
	return yaml.Marshal(u.Object)
}
