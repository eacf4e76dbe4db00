package kube

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object returns a typed object as what we apply: with its kind, the owner's
// labels, and nothing that the server alone sets. What is not asked for is
// absent rather than null, for who applies a field owns it.
func (c *Cluster) Object(obj client.Object, owner Owner) (*unstructured.Unstructured, error) {
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return nil, fmt.Errorf("preparing %q: %w", obj.GetName(), err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("preparing %s %q: %w", kind.Kind, obj.GetName(), err)
	}
	content = runtime.DeepCopyJSON(content) // of an untyped object it is the object's own
	withoutNulls(content)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	serverless(u)
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, owner.Labels())
	u.SetLabels(labels)
	return u, nil
}

// placed fills in our namespace where an object has none and needs one. The
// server says which kinds do.
func (c *Cluster) placed(u *unstructured.Unstructured) error {
	if u.GetNamespace() != "" {
		return nil
	}
	namespaced, err := c.IsObjectNamespaced(u)
	if err = c.Explain(err); err != nil {
		return fmt.Errorf("preparing %s: %w", Title(u), err)
	}
	if namespaced {
		u.SetNamespace(c.Namespace)
	}
	return nil
}

// serverless removes what only the server sets.
func serverless(u *unstructured.Unstructured) {
	delete(u.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
}

func withoutNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if inner == nil {
				delete(value, key)
			}
			withoutNulls(inner)
		}
	case []any:
		for _, inner := range value {
			withoutNulls(inner)
		}
	}
}
