package raycluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// patchable is a RayCluster whose worker groups a patch finds by their names.
// KubeRay's type does not say how they merge, and a patch would replace them
// all.
type patchable struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec patchableSpec `json:"spec,omitempty"`
}

type patchableSpec struct {
	rayv1.RayClusterSpec `json:",inline"`

	WorkerGroupSpecs []rayv1.WorkerGroupSpec `json:"workerGroupSpecs,omitempty" patchStrategy:"merge" patchMergeKey:"groupName"`
}

// patched applies what the user has to say last: patches, then single values.
// Each must leave a RayCluster that is still one, and still ours.
func patched(cluster *rayv1.RayCluster, s Spec) (*rayv1.RayCluster, error) {
	var problems []error
	for i, patch := range s.Patches {
		next, err := merge(cluster, patch)
		if err != nil {
			problems = append(problems, fmt.Errorf("patch %d does not apply: %w", i+1, err))
			continue
		}
		cluster = next
	}
	for _, assignment := range s.Set {
		next, err := set(cluster, assignment)
		if err != nil {
			problems = append(problems, fmt.Errorf("setting %q does not apply: %w", assignment, err))
			continue
		}
		cluster = next
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return cluster, nil
}

func merge(cluster *rayv1.RayCluster, patch string) (*rayv1.RayCluster, error) {
	before, err := json.Marshal(cluster)
	if err != nil {
		return nil, fmt.Errorf("encoding the cluster: %w", err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, []byte(patch), patchable{})
	if err != nil {
		return nil, err
	}
	merged, err := decode(after, cluster)
	if err != nil {
		return nil, err
	}
	rayFirst(&merged.Spec.HeadGroupSpec.Template.Spec, headContainer)
	for i := range merged.Spec.WorkerGroupSpecs {
		rayFirst(&merged.Spec.WorkerGroupSpecs[i].Template.Spec, workerContainer)
	}
	return merged, nil
}

// rayFirst keeps Ray's container before those that a patch adds, which a merge
// puts first: KubeRay starts Ray in the first.
func rayFirst(pod *corev1.PodSpec, name string) {
	slices.SortStableFunc(pod.Containers, func(a, b corev1.Container) int {
		switch {
		case a.Name == name && b.Name != name:
			return -1
		case b.Name == name && a.Name != name:
			return 1
		}
		return 0
	})
}

// decode reads a changed cluster, which must keep what it is found by.
func decode(text []byte, before *rayv1.RayCluster) (*rayv1.RayCluster, error) {
	after := new(rayv1.RayCluster)
	if err := strict(string(text), after); err != nil {
		return nil, err
	}
	if after.TypeMeta != before.TypeMeta || after.Name != before.Name || after.Namespace != before.Namespace {
		return nil, errors.New("kind, name and namespace must stay")
	}
	if after.Spec.HeadGroupSpec.Template.Labels == nil && len(after.Spec.HeadGroupSpec.Template.Spec.Containers) == 0 {
		return nil, errors.New("spec.headGroupSpec must stay: a Ray cluster has a head")
	}
	for _, label := range []string{ManagedByLabel, ClusterLabel, OwnerLabel} {
		for _, labels := range append(podLabels(after), after.Labels) {
			if labels[label] != before.Labels[label] {
				return nil, fmt.Errorf("label %s must stay", label)
			}
		}
	}
	return after, nil
}

// podLabels are those of the head's pod and of each group's.
func podLabels(cluster *rayv1.RayCluster) []map[string]string {
	all := []map[string]string{cluster.Spec.HeadGroupSpec.Template.Labels}
	for _, group := range cluster.Spec.WorkerGroupSpecs {
		all = append(all, group.Template.Labels)
	}
	return all
}
