package addons

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
)

// crdKind is the kind that is applied and never removed: with a
// CustomResourceDefinition all objects of its kind go, whosever they are.
const crdKind = "CustomResourceDefinition"

// kinds are those that an add-on is made of, in the order in which they are
// applied.
func kinds() []schema.GroupVersionKind {
	const rbac = "rbac.authorization.k8s.io"
	return []schema.GroupVersionKind{
		{Version: "v1", Kind: "ServiceAccount"},
		{Version: "v1", Kind: "ConfigMap"},
		{Group: rbac, Version: "v1", Kind: "ClusterRole"},
		{Group: rbac, Version: "v1", Kind: "ClusterRoleBinding"},
		{Group: rbac, Version: "v1", Kind: "Role"},
		{Group: rbac, Version: "v1", Kind: "RoleBinding"},
		{Version: "v1", Kind: "Service"},
		{Group: "apps", Version: "v1", Kind: "DaemonSet"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
	}
}

func kindOf(u *unstructured.Unstructured) schema.GroupVersionKind { return u.GroupVersionKind() }

// owner is whose objects all add-ons are.
func owner() kube.Owner { return kube.Owner{} }

// existing returns what there is of an add-on, in the order in which it was applied.
func existing(ctx context.Context, cluster *kube.Cluster, addon Name) ([]client.Object, error) {
	labels := owner().Labels()
	labels[Label] = string(addon)
	var all []client.Object
	for _, kind := range kinds() {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		mapping, err := cluster.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, cluster.Explain(err)
		}
		options := []client.ListOption{client.MatchingLabels(labels)}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			options = append(options, client.InNamespace(Namespace))
		}
		if err := cluster.List(ctx, &list, options...); err != nil {
			return nil, fmt.Errorf("looking for what there is of the %s: %w", addon.Title(), err)
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
	return all, nil
}
