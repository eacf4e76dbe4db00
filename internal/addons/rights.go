package addons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
)

// Verbs that installing and removing take, of each kind of object.
var (
	toInstall = []string{"get", "list", "create", "patch"}
	toRemove  = []string{"get", "list", "delete"}
)

// mayAll asks the server whether the user may do all that is needed before
// anything is done, and returns one error that names whatever is forbidden.
func mayAll(ctx context.Context, cluster *kube.Cluster, doing string, verbs []string, kinds []schema.GroupVersionKind) error {
	var questions sync.WaitGroup
	denied, failed := make([]string, len(kinds)), make([]error, len(kinds))
	for i, kind := range kinds {
		questions.Go(func() { denied[i], failed[i] = missingRights(ctx, cluster, verbs, kind) })
	}
	questions.Wait()
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("asking what you may do: %w", err)
	}
	denied = slices.DeleteFunc(denied, func(text string) bool { return text == "" })
	if len(denied) == 0 {
		return nil
	}
	return fault.WithHint("Ask an administrator of the cluster to run the same command.",
		fmt.Errorf("%s: you may not %s", doing, strings.Join(denied, "; ")))
}

// missingRights names the verbs that are forbidden: "create, patch
// daemonsets.apps in namespace kube-system".
func missingRights(ctx context.Context, cluster *kube.Cluster, verbs []string, kind schema.GroupVersionKind) (string, error) {
	mapping, err := cluster.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return "", cluster.Explain(err)
	}
	where, namespace := " in the whole cluster", ""
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		where, namespace = " in namespace "+Namespace, Namespace
	}
	var denied []string
	for _, verb := range verbs {
		allowed, err := cluster.May(ctx, authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: kind.Group, Resource: mapping.Resource.Resource,
		})
		if err != nil {
			return "", err
		}
		if !allowed {
			denied = append(denied, verb)
		}
	}
	if len(denied) == 0 {
		return "", nil
	}
	return strings.Join(denied, ", ") + " " + mapping.Resource.GroupResource().String() + where, nil
}
