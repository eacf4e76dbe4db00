package addons

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Label says on everything of an add-on which one it is, pods included.
const Label = "trainyard.dev/addon"

// Order is what to install, and how.
type Order struct {
	Addon    Name
	Charts   Source
	Registry string // "registry.example.com/mirror", where images are instead of their own registries; "": there
	Nodes    Nodes
}

// A Set is what an add-on is made of, in the order in which it is applied.
type Set []client.Object

// Objects returns what an add-on is made of. Charts are fetched, and checked,
// here; the cluster is not asked.
func Objects(ctx context.Context, o Order) (Set, error) {
	var objects []*unstructured.Unstructured
	var err error
	switch o.Addon {
	case NVIDIA:
		objects, err = o.fromChart(ctx, nvidiaPin, map[string]any{
			"image":       map[string]any{"repository": o.image("nvcr.io/nvidia/k8s-device-plugin")},
			"affinity":    content(corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: o.Nodes.withGPUs()}}),
			"tolerations": []any{map[string]any{"operator": "Exists"}},
		})
	case EFA:
		objects, err = o.efa()
	case KubeRay:
		objects, err = o.fromChart(ctx, kubeRayPin, map[string]any{
			"image":       map[string]any{"repository": o.image("quay.io/kuberay/operator")},
			"affinity":    content(corev1.Affinity{NodeAffinity: o.Nodes.withoutGPUs()}),
			"tolerations": []any{map[string]any{"key": "CriticalAddonsOnly", "operator": "Exists"}},
		})
	}
	if err != nil {
		return nil, err
	}
	return ordered(o.Addon, objects)
}

func (o Order) fromChart(ctx context.Context, p pin, values map[string]any) ([]*unstructured.Unstructured, error) {
	c, err := o.Charts.load(ctx, p)
	if err != nil {
		return nil, err
	}
	return render(ctx, c, values)
}

//go:embed efa.yaml
var efaManifest []byte

func (o Order) efa() ([]*unstructured.Unstructured, error) {
	var set appsv1.DaemonSet
	if err := yaml.UnmarshalStrict(efaManifest, &set); err != nil {
		return nil, fmt.Errorf("reading the manifest of the EFA device plugin: %w", err)
	}
	pod := &set.Spec.Template.Spec
	pod.Containers[0].Image = o.image(pod.Containers[0].Image) + ":" + efaVersion
	pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: o.Nodes.withEFA()}}
	return []*unstructured.Unstructured{{Object: content(set)}}, nil
}

// image is where an image comes from: the same path, in the mirror if there is
// one.
func (o Order) image(image string) string {
	if o.Registry == "" {
		return image
	}
	_, path, _ := strings.Cut(image, "/")
	return strings.TrimSuffix(o.Registry, "/") + "/" + path
}

// content is a typed object as charts' values and untyped objects have it.
func content(object any) map[string]any {
	data, err := yaml.Marshal(object)
	made := map[string]any{}
	if err == nil {
		err = yaml.Unmarshal(data, &made)
	}
	if err != nil {
		panic(fmt.Sprintf("addons: %v", err)) // types of Kubernetes have no values that JSON has not
	}
	return made
}

// ordered labels objects and sorts them, so that each finds what it refers to.
// An object of a kind that [Remove] does not know is an error.
func ordered(addon Name, objects []*unstructured.Unstructured) (Set, error) {
	for _, u := range objects {
		if !slices.Contains(kinds(), kindOf(u)) && u.GetKind() != crdKind {
			return nil, fmt.Errorf("preparing the %s: its chart makes a %s, which could not be removed again", addon.Title(), u.GetKind())
		}
		u.SetLabels(labelled(u.GetLabels(), addon))
		if pod, found, _ := unstructured.NestedStringMap(u.Object, "spec", "template", "metadata", "labels"); found {
			if err := unstructured.SetNestedStringMap(u.Object, labelled(pod, addon), "spec", "template", "metadata", "labels"); err != nil {
				return nil, fmt.Errorf("preparing the %s: %w", addon.Title(), err)
			}
		}
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(slices.Index(kinds(), kindOf(a)), slices.Index(kinds(), kindOf(b)))
	})
	sorted := make(Set, 0, len(objects))
	for _, u := range objects {
		sorted = append(sorted, u)
	}
	return sorted, nil
}

func labelled(labels map[string]string, addon Name) map[string]string {
	all := maps.Clone(labels)
	if all == nil {
		all = map[string]string{}
	}
	all[Label] = string(addon)
	return all
}
