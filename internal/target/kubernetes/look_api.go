package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
)

// What the API server says of itself. Every user may ask for it, also those who
// may not read CustomResourceDefinitions.

func (e eye) get(ctx context.Context, path string) ([]byte, error) {
	client, err := discovery.NewDiscoveryClientForConfig(e.cluster.Config)
	if err != nil {
		return nil, err
	}
	data, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
	return data, e.cluster.Explain(err)
}

func (e eye) getJSON(ctx context.Context, path string, into any) error {
	data, err := e.get(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return e.cluster.Explain(fmt.Errorf("reading the answer to %s: %w", path, err))
	}
	return nil
}

func (e eye) version(ctx context.Context) (info version.Info, err error) {
	return info, e.getJSON(ctx, "/version", &info)
}

func (e eye) groups(ctx context.Context) (map[string][]string, error) {
	var list metav1.APIGroupList
	if err := e.getJSON(ctx, "/apis", &list); err != nil {
		return nil, err
	}
	groups := map[string][]string{}
	for _, group := range list.Groups {
		for _, v := range group.Versions {
			groups[group.Name] = append(groups[group.Name], v.Version)
		}
	}
	return groups, nil
}

// rayFields reads from the server's OpenAPI documents which fields the spec of a
// RayCluster may have: others are dropped without a word.
func (e eye) rayFields(ctx context.Context) ([]string, error) {
	type object struct{ Properties map[string]json.RawMessage }
	var document struct {
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := e.getJSON(ctx, "/openapi/v3/apis/ray.io/v1", &document); err != nil {
		return nil, err
	}
	var cluster, spec object
	if err := json.Unmarshal(document.Components.Schemas["io.ray.v1.RayCluster"], &cluster); err != nil {
		return nil, fmt.Errorf("reading the schema of RayCluster: %w", err)
	}
	if err := json.Unmarshal(cluster.Properties["spec"], &spec); err != nil {
		return nil, fmt.Errorf("reading the schema of RayCluster: %w", err)
	}
	if len(spec.Properties) == 0 {
		return nil, errors.New("reading the schema of RayCluster: it names no fields")
	}
	return slices.Sorted(maps.Keys(spec.Properties)), nil
}
