package addons

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
)

// Installed is what Install did.
type Installed struct {
	KeptCRDs []string // CustomResourceDefinitions of somebody else, left as they are
	Pruned   int      // objects of an older version of ours that were removed
}

// Install applies the objects of an add-on, and removes those that an older
// version had and this one has not. Nothing is touched that is not ours: where a
// name is taken nothing is changed, and the error says by what. Of what the user
// may not do, nothing is begun. It may be repeated, and goes on where a call
// before it was interrupted.
func Install(ctx context.Context, cluster *kube.Cluster, addon Name, objects Set) (Installed, error) {
	var did Installed
	doing := "installing the " + addon.Title()
	kept, err := foreignCRDs(ctx, cluster, objects)
	if err != nil {
		return did, fmt.Errorf("%s: %w", doing, err)
	}
	did.KeptCRDs = kept
	objects = slices.DeleteFunc(slices.Clone(objects), func(o client.Object) bool {
		return isCRD(o) && slices.Contains(kept, o.GetName())
	})
	if err := mayAll(ctx, cluster, doing, toInstall, kindsOf(objects)); err != nil {
		return did, err
	}
	if _, err := cluster.Of(owner()).Apply(ctx, kube.Real, objects...); err != nil {
		return did, fmt.Errorf("%s: %w", doing, err)
	}
	if did.Pruned, err = prune(ctx, cluster, addon, objects); err != nil {
		return did, fmt.Errorf("%s: removing what an older version had: %w", doing, err)
	}
	return did, nil
}

func isCRD(o client.Object) bool { return o.GetObjectKind().GroupVersionKind().Kind == crdKind }

// foreignCRDs names the CustomResourceDefinitions among the objects that
// somebody else has made already.
func foreignCRDs(ctx context.Context, cluster *kube.Cluster, objects Set) ([]string, error) {
	var names []string
	for _, o := range objects {
		if !isCRD(o) {
			continue
		}
		var found metav1.PartialObjectMetadata
		found.SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
		err := cluster.Get(ctx, client.ObjectKeyFromObject(o), &found)
		switch {
		case err == nil && found.Labels[kube.ManagedByLabel] != kube.Manager:
			names = append(names, o.GetName())
		case err != nil && !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("reading %s: %w", kube.Title(o), err)
		}
	}
	return names, nil
}

// kindsOf are the kinds of objects, each once.
func kindsOf(objects Set) []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for _, o := range objects {
		if kind := o.GetObjectKind().GroupVersionKind(); !slices.Contains(all, kind) {
			all = append(all, kind)
		}
	}
	return all
}

// prune removes what there is of an add-on beside the objects that it now has.
func prune(ctx context.Context, cluster *kube.Cluster, addon Name, objects Set) (int, error) {
	there, err := existing(ctx, cluster, addon)
	if err != nil {
		return 0, err
	}
	old := slices.DeleteFunc(there, func(o client.Object) bool {
		return slices.ContainsFunc(objects, func(now client.Object) bool {
			return now.GetName() == o.GetName() && now.GetObjectKind().GroupVersionKind() == o.GetObjectKind().GroupVersionKind()
		})
	})
	return len(old), cluster.Of(owner()).Delete(ctx, goingTimeout, nil, old...)
}
