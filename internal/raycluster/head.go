package raycluster

import (
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// head takes no work: neither GPUs nor CPUs of its own count for Ray, so that
// training lands on the workers. Its ports are reached inside the cluster only.
func (s Spec) head() rayv1.HeadGroupSpec {
	template := s.pod(corev1.Container{
		Name: headContainer,
		Ports: []corev1.ContainerPort{
			{Name: "gcs-server", ContainerPort: 6379},
			{Name: "dashboard", ContainerPort: 8265},
			{Name: "client", ContainerPort: 10001},
		},
		Env: []corev1.EnvVar{noGPU},
		Resources: corev1.ResourceRequirements{
			Requests: headRequests(),
			Limits: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("3"),
				corev1.ResourceMemory: resource.MustParse("12Gi"),
			},
		},
	})
	template.Spec.Affinity = &corev1.Affinity{NodeAffinity: s.headNodes()}
	if s.HeadOnGPU {
		template.Spec.Tolerations = []corev1.Toleration{gpuTaint}
	}
	return rayv1.HeadGroupSpec{
		ServiceType: corev1.ServiceTypeClusterIP,
		RayStartParams: map[string]string{
			"dashboard-host": "0.0.0.0",
			"num-cpus":       "0",
			"num-gpus":       "0",
		},
		Template: template,
	}
}

// headRequests fit on an m7i.xlarge beside KubeRay's operator and kube-system.
func headRequests() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("2"),
		corev1.ResourceMemory: resource.MustParse("8Gi"),
	}
}

// noGPU keeps NVIDIA's container runtime away: the image asks for all GPUs,
// and the hook fails on a node that has none.
var noGPU = corev1.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", Value: "void"}

// headNodes prefers system nodes, and keeps the head off nodes with GPUs,
// where it would take from a worker what the worker's node has for it.
func (s Spec) headNodes() *corev1.NodeAffinity {
	nodes := &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight:     100,
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "role", Operator: corev1.NodeSelectorOpIn, Values: []string{"system"}}}},
		}},
	}
	if s.Worker.GPUs == 0 || s.HeadOnGPU {
		return nodes
	}
	not := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpNotIn, Values: []string{value}}
	}
	gpuNodes := []corev1.NodeSelectorRequirement{not("nvidia.com/gpu.present", "true"), not("role", "gpu-worker")}
	if s.Worker.InstanceType != "" {
		gpuNodes = append(gpuNodes, not(corev1.LabelInstanceTypeStable, s.Worker.InstanceType))
	}
	nodes.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: gpuNodes}},
	}
	return nodes
}
