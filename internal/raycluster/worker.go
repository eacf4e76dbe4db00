package raycluster

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Resources that device plugins offer.
const (
	GPUResource = corev1.ResourceName("nvidia.com/gpu")
	EFAResource = corev1.ResourceName("vpc.amazonaws.com/efa")
)

const hugePages = corev1.ResourceHugePagesPrefix + "2Mi"

// worker has the same requests as limits, in all containers (KubeRay's own
// init container too), which makes it the last that a node under pressure
// would end. KubeRay adds /dev/shm, as large as the memory limit, for Ray's
// objects and NCCL's shared memory.
func (s Spec) worker() corev1.PodTemplateSpec {
	resources := s.Worker.resources()
	template := s.pod(corev1.Container{
		Name:      workerContainer,
		Command:   s.Worker.command(),
		Env:       s.Worker.env(),
		Resources: corev1.ResourceRequirements{Requests: resources, Limits: maps.Clone(resources)},
	})
	template.Spec.NodeSelector = s.workerLabels()
	template.Spec.Tolerations = s.workerTaints()
	template.Spec.Affinity = s.workerNodes()
	return template
}

// workerStart tells Ray of the GPUs that the pod asks for, from the same
// number. KubeRay tells it of CPUs and memory, from the limits.
func (s Spec) workerStart() map[string]string {
	return map[string]string{"num-gpus": strconv.Itoa(s.Worker.GPUs)}
}

func (n Node) resources() corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourceCPU: n.CPU, corev1.ResourceMemory: n.Memory}
	if n.GPUs > 0 {
		list[GPUResource] = *resource.NewQuantity(int64(n.GPUs), resource.DecimalSI)
	}
	if n.EFA > 0 {
		list[EFAResource] = *resource.NewQuantity(int64(n.EFA), resource.DecimalSI)
	}
	if !n.HugePages.IsZero() {
		list[hugePages] = n.HugePages
	}
	for name, amount := range n.Resources {
		list[corev1.ResourceName(name)] = amount
	}
	return list
}

// env is the transport of the job, in sight of whoever reads the manifest. A
// job may override each variable in its runtime environment.
//
// eth0 is the pod's one interface with an address; NCCL's own exclusions,
// which the image sets, would find it too, but only while nothing else is there.
func (n Node) env() []corev1.EnvVar {
	if n.GPUs == 0 {
		return []corev1.EnvVar{noGPU}
	}
	var env []corev1.EnvVar
	if n.EFA > 0 {
		env = append(env, corev1.EnvVar{Name: "FI_PROVIDER", Value: "efa"}, corev1.EnvVar{Name: "NCCL_NET_PLUGIN", Value: "ofi"})
	}
	return append(env, corev1.EnvVar{Name: "NCCL_SOCKET_IFNAME", Value: "eth0"}, corev1.EnvVar{Name: "NCCL_DEBUG", Value: "INFO"})
}

func (s Spec) workerLabels() map[string]string {
	labels := map[string]string{}
	if s.Worker.InstanceType != "" {
		labels[corev1.LabelInstanceTypeStable] = s.Worker.InstanceType
	}
	if s.Zone != "" {
		labels[corev1.LabelTopologyZone] = s.Zone
	}
	maps.Copy(labels, s.NodeSelector)
	return labels
}

// gpuTaint is what GPU nodes carry where they are kept for pods with GPUs.
var gpuTaint = corev1.Toleration{Key: string(GPUResource), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}

func (s Spec) workerTaints() []corev1.Toleration {
	taints := slices.Clone(s.Tolerations)
	if s.Worker.GPUs > 0 {
		taints = append([]corev1.Toleration{gpuTaint}, taints...)
	}
	return taints
}

// workerNodes gives each worker a node for itself, and all of them one zone:
// EFA does not leave a zone, so with EFA it must be one. Without, one zone is
// only cheaper and faster, and nodes outside a cloud have no label that says.
func (s Spec) workerNodes() *corev1.Affinity {
	siblings := &metav1.LabelSelector{MatchLabels: map[string]string{ClusterLabel: s.Name, "ray.io/node-type": "worker"}}
	affinity := &corev1.Affinity{
		PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: siblings, TopologyKey: corev1.LabelHostname,
			}},
		},
	}
	zone := corev1.PodAffinityTerm{LabelSelector: siblings.DeepCopy(), TopologyKey: corev1.LabelTopologyZone}
	switch {
	case s.Zone != "":
	case s.Worker.EFA > 0:
		affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{zone}}
	default:
		affinity.PodAffinity = &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: zone}},
		}
	}
	return affinity
}
