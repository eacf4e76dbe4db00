package kubernetes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/internal/instancetype"
)

func TestNeedOf(t *testing.T) {
	secret := func(name string, optional bool) corev1.EnvFromSource {
		return corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: &optional}}
	}
	volume := corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}
	head := corev1.PodSpec{ServiceAccountName: "trainer", Volumes: []corev1.Volume{volume}, Containers: []corev1.Container{{Name: "h"}}}
	worker := corev1.PodSpec{
		Volumes: []corev1.Volume{volume}, Containers: []corev1.Container{{Name: "w", EnvFrom: []corev1.EnvFromSource{secret("wandb", false), secret("extra", true)}}},
		Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelTopologyZone}},
		}},
	}
	replicas := int32(3)
	cluster := &rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "mine", Labels: map[string]string{"kueue.x-k8s.io/queue-name": "team"}},
		Spec: rayv1.RayClusterSpec{
			HeadGroupSpec:    rayv1.HeadGroupSpec{Template: corev1.PodTemplateSpec{Spec: head}},
			WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{Replicas: &replicas, Template: corev1.PodTemplateSpec{Spec: worker}}},
		},
	}
	want := Need{
		Cluster: "mine", Labels: cluster.Labels, Nodes: 3, Type: instancetype.Type{Name: "x"}, Worker: worker, Head: head, OneZone: true, CUDA: "13.0.2",
		ServiceAccount: "trainer", Claims: []string{"data"}, Secrets: []string{"wandb"}, Queue: "team",
	}
	if diff := cmp.Diff(want, NeedOf(cluster, instancetype.Type{Name: "x"}, "13.0.2")); diff != "" {
		t.Error(diff)
	}
}
