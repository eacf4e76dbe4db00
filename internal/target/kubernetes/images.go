package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
)

// ImageOf is the image that all pods of a RayCluster run, as the kubelets name
// it: with its digest. It is empty where they do not say. Pods that run different
// images, as where a tag moved between two starts, are an error.
func ImageOf(ctx context.Context, k *kube.Cluster, name string) (string, error) {
	var pods corev1.PodList
	if err := k.List(ctx, &pods, client.InNamespace(k.Namespace), podsOf(name)); err != nil {
		return "", fmt.Errorf("asking for the images of Ray cluster %q: %w", name, err)
	}
	return sameImage(name, pods.Items)
}

func sameImage(name string, pods []corev1.Pod) (string, error) {
	byImage := map[string][]string{}
	for i := range pods {
		if pods[i].DeletionTimestamp != nil {
			continue // maybe of a RayCluster of before
		}
		for _, c := range pods[i].Status.ContainerStatuses {
			// The first container of a pod is Ray's; others are sidecars.
			if c.Name == pods[i].Spec.Containers[0].Name && c.ImageID != "" {
				byImage[c.ImageID] = append(byImage[c.ImageID], pods[i].Name)
			}
		}
	}
	images := slices.Sorted(maps.Keys(byImage))
	if len(images) < 2 {
		return strings.Join(images, ""), nil
	}
	var each []string
	for _, image := range images {
		slices.Sort(byImage[image])
		each = append(each, fmt.Sprintf("%s in %s", image, few(byImage[image], manyValues)))
	}
	return "", fault.WithHint("name the image by its digest with --image, and start the Ray cluster anew: trainyard down",
		fmt.Errorf("comparing the pods of Ray cluster %q: they run different images: %s", name, strings.Join(each, "; ")))
}
