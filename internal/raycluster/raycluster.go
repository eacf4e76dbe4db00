// Package raycluster writes what KubeRay makes a Ray cluster of: from plain
// values to its own typed RayCluster or RayJob, and to YAML that a reviewer
// would sign. It is pure: the same values give the same bytes, and no cluster
// is asked.
//
// The cluster is one head without GPUs, and workers that each have a node for
// themselves: all of its GPUs and EFA interfaces. Defaults are those of AWS's
// sample for the Ray Train container unless a comment says why not.
package raycluster

import (
	"errors"
	"maps"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels of everything that trainyard makes in a cluster.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by" // ManagedBy
	ClusterLabel   = "trainyard.dev/cluster"        // the RayCluster's name
	OwnerLabel     = "trainyard.dev/owner"          // who made it

	ManagedBy = "trainyard"
)

// QueueLabel names the LocalQueue of Kueue that a RayCluster waits in.
const QueueLabel = "kueue.x-k8s.io/queue-name"

// WorkerGroup is the name of the one group of workers.
const WorkerGroup = "workers"

// Names of Ray's containers, the first ones of their pods.
const (
	headContainer   = "ray-head"
	workerContainer = "ray-worker"
)

// Spec says what cluster to write.
type Spec struct {
	Name      string // of the RayCluster or RayJob
	Namespace string // empty: whoever applies it decides
	Owner     string // value of OwnerLabel; see OwnerName

	Image           string // of head and workers
	ImagePullPolicy corev1.PullPolicy
	RayVersion      string // in the image; KubeRay's probes and its token depend on it

	Workers int  // pods, each on a node of its own
	Worker  Node // what each of them has

	Zone         string            // of all workers; empty: one of any
	NodeSelector map[string]string // labels of the workers' nodes, beside the type's and the zone's
	Tolerations  []corev1.Toleration
	HeadOnGPU    bool // the head may take a node with GPUs

	Queue         string // Kueue's LocalQueue; empty: none
	Gang          bool   // all pods at once, by KubeRay's batch scheduler
	PriorityClass string

	ServiceAccount string
	Secrets        []string // names of Secrets that become variables of all pods
	Volumes        []Volume // in all pods

	Patches []string // strategic merge patches, JSON, in this order
	Set     []string // PATH=VALUE, after the patches
}

// Node is what a worker pod asks of its node.
type Node struct {
	InstanceType string // label of the nodes; empty: nodes of any type
	GPUs         int
	EFA          int // interfaces
	CPU          resource.Quantity
	Memory       resource.Quantity
	HugePages    resource.Quantity            // of 2 MiB pages
	Resources    map[string]resource.Quantity // further ones, such as rdma/hca
}

// Build returns the RayCluster. Its error joins everything that is wrong with
// the spec.
func Build(s Spec) (*rayv1.RayCluster, error) {
	cluster := &rayv1.RayCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: rayv1.GroupVersion.String(), Kind: "RayCluster"},
		ObjectMeta: s.meta(),
		Spec:       s.cluster(),
	}
	cluster, err := patched(cluster, s)
	if err := errors.Join(s.check(), err); err != nil {
		return nil, err
	}
	return cluster, nil
}

func (s Spec) meta() metav1.ObjectMeta {
	labels := s.labels()
	if s.Queue != "" {
		labels[QueueLabel] = s.Queue
	}
	if s.Gang {
		labels["ray.io/gang-scheduling-enabled"] = "true"
		if s.PriorityClass != "" {
			labels["ray.io/priority-class-name"] = s.PriorityClass // Volcano's PodGroup gets it
		}
	}
	return metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace, Labels: labels}
}

func (s Spec) labels() map[string]string {
	return map[string]string{ManagedByLabel: ManagedBy, ClusterLabel: s.Name, OwnerLabel: s.Owner}
}

// cluster is the part that a RayCluster and a RayJob share.
//
// authOptions needs its mode: an empty one makes KubeRay write the token's
// Secret but leaves authentication off.
func (s Spec) cluster() rayv1.RayClusterSpec {
	workers := int32(s.Workers)
	return rayv1.RayClusterSpec{
		RayVersion:    s.RayVersion,
		AuthOptions:   &rayv1.AuthOptions{Mode: rayv1.AuthModeToken},
		HeadGroupSpec: s.head(),
		WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{
			GroupName:      WorkerGroup,
			Replicas:       &workers,
			MinReplicas:    &workers,
			MaxReplicas:    &workers,
			NumOfHosts:     1,
			RayStartParams: s.workerStart(),
			Template:       s.worker(),
		}},
	}
}

// pod is what the pods of head and workers have in common.
func (s Spec) pod(container corev1.Container) corev1.PodTemplateSpec {
	container.Image = s.Image
	container.ImagePullPolicy = s.pullPolicy()
	for _, name := range s.Secrets {
		container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{
			SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
		})
	}
	container.VolumeMounts = mounts(s.Volumes)
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: s.labels(), Annotations: maps.Clone(stay)},
		Spec: corev1.PodSpec{
			ServiceAccountName:           s.ServiceAccount,
			AutomountServiceAccountToken: s.mountsToken(),
			PriorityClassName:            s.PriorityClass,
			Containers:                   []corev1.Container{container},
			Volumes:                      volumes(s.Volumes),
		},
	}
}

// stay asks autoscalers to leave a pod where it is: a job ends with any of its
// pods. Sources: Karpenter's page "Disruption", the cluster autoscaler's FAQ.
var stay = map[string]string{
	"karpenter.sh/do-not-disrupt":                    "true",
	"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}

// pullPolicy asks the registry each time for what a tag means now, since
// AWS moves the tag of the image with security rebuilds, and nodes that keep
// what they have would run different images. A digest means one thing.
func (s Spec) pullPolicy() corev1.PullPolicy {
	switch {
	case s.ImagePullPolicy != "":
		return s.ImagePullPolicy
	case strings.Contains(s.Image, "@sha256:"):
		return corev1.PullIfNotPresent
	default:
		return corev1.PullAlways
	}
}

// mountsToken keeps the token of the namespace's default account out of pods
// that run anybody's code.
func (s Spec) mountsToken() *bool {
	if s.ServiceAccount != "" {
		return nil
	}
	mount := false
	return &mount
}
