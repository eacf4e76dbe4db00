package kubernetes

import (
	"slices"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/raycluster"
)

// NeedOf reads from the RayCluster that is to be made what it needs. A type
// without a name leaves open which nodes the workers go to.
func NeedOf(cluster *rayv1.RayCluster, nodeType instancetype.Type, cuda string) Need {
	head := cluster.Spec.HeadGroupSpec.Template.Spec
	n := Need{
		Cluster: cluster.Name, Labels: cluster.Labels, Type: nodeType, Head: head, CUDA: cuda,
		ServiceAccount: head.ServiceAccountName, Queue: cluster.Labels[raycluster.QueueLabel],
	}
	for _, group := range cluster.Spec.WorkerGroupSpecs { // ours has one
		n.Worker = group.Template.Spec
		if group.Replicas != nil {
			n.Nodes += int(*group.Replicas)
		}
	}
	n.OneZone = wantsOneZone(n.Worker.Affinity)
	for _, pod := range []corev1.PodSpec{head, n.Worker} {
		n.Claims = append(n.Claims, claimsOf(pod)...)
		n.Secrets = append(n.Secrets, secretsOf(pod)...)
	}
	slices.Sort(n.Claims)
	slices.Sort(n.Secrets)
	n.Claims, n.Secrets = slices.Compact(n.Claims), slices.Compact(n.Secrets)
	return n
}

// wantsOneZone tells whether pods must be in the zone of their siblings.
func wantsOneZone(affinity *corev1.Affinity) bool {
	return affinity != nil && affinity.PodAffinity != nil && slices.ContainsFunc(
		affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
		func(t corev1.PodAffinityTerm) bool { return t.TopologyKey == corev1.LabelTopologyZone })
}

func claimsOf(pod corev1.PodSpec) []string {
	var names []string
	for _, volume := range pod.Volumes {
		if volume.PersistentVolumeClaim != nil {
			names = append(names, volume.PersistentVolumeClaim.ClaimName)
		}
	}
	return names
}

// secretsOf are the Secrets without which a pod does not start.
func secretsOf(pod corev1.PodSpec) []string {
	var names []string
	must := func(name string, optional *bool) {
		if optional == nil || !*optional {
			names = append(names, name)
		}
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, from := range container.EnvFrom {
			if from.SecretRef != nil {
				must(from.SecretRef.Name, from.SecretRef.Optional)
			}
		}
	}
	for _, volume := range pod.Volumes {
		if volume.Secret != nil {
			must(volume.Secret.SecretName, volume.Secret.Optional)
		}
	}
	return names
}
