package addons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
)

// goingTimeout is how long what is removed may take to go.
const goingTimeout = 5 * time.Minute

// shownUsers is how many of an operator's objects an error names.
const shownUsers = 5

// Remove removes what Install made of an add-on, whichever version it was, and
// waits until it is gone. It returns how many objects there were; none is fine.
// CustomResourceDefinitions stay. The operator stays while it has something to
// look after, unless forced. waiting is told what it waits for.
func Remove(ctx context.Context, cluster *kube.Cluster, addon Name, force bool, waiting func(string)) (int, error) {
	doing := "removing the " + addon.Title()
	if err := mayAll(ctx, cluster, doing, toRemove, kinds()); err != nil {
		return 0, err
	}
	there, err := existing(ctx, cluster, addon)
	if err != nil || len(there) == 0 {
		return 0, err
	}
	if addon == KubeRay && !force {
		if err := unused(ctx, cluster); err != nil {
			return 0, fmt.Errorf("%s: %w", doing, err)
		}
	}
	slices.Reverse(there)
	if err := cluster.Of(owner()).Delete(ctx, goingTimeout, waiting, there...); err != nil {
		return 0, fmt.Errorf("%s: %w", doing, err)
	}
	return len(there), nil
}

// unused returns an error that names what KubeRay's operator looks after, in
// all namespaces.
func unused(ctx context.Context, cluster *kube.Cluster) error {
	var users []string
	for _, kind := range []string{"RayCluster", "RayJob", "RayService", "RayCronJob"} {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: kind})
		err := cluster.List(ctx, &list, client.Limit(shownUsers+1))
		if meta.IsNoMatchError(err) {
			continue // the kind is not installed
		}
		if err != nil {
			return fmt.Errorf("looking for what it looks after: %w", err)
		}
		for _, item := range list.Items {
			users = append(users, fmt.Sprintf("%s %s/%s", kind, item.Namespace, item.Name))
		}
	}
	if len(users) == 0 {
		return nil
	}
	if len(users) > shownUsers {
		users = append(users[:shownUsers], "others")
	}
	return fault.WithHint("Delete them first: trainyard down deletes yours. --force removes the operator nevertheless; then nobody looks after them.",
		errors.New("it looks after "+strings.Join(users, ", ")))
}
