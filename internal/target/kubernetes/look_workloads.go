package kubernetes

import (
	"context"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/internal/kube"
)

// Role is what a workload does for the cluster.
type Role string

// Roles that matter to a training job.
const (
	GPUPlugin   Role = "NVIDIA device plugin"
	EFAPlugin   Role = "EFA device plugin"
	GPUDRA      Role = "NVIDIA DRA driver"
	EFADRA      Role = "EFA DRA driver"
	GPUOperator Role = "GPU Operator"
	Autoscaler  Role = "cluster-autoscaler"
	kubeRay     Role = "KubeRay operator"
)

// Workload is a Deployment or DaemonSet with a role.
type Workload struct {
	Role            Role
	Kind            string // "Deployment" or "DaemonSet"
	Namespace, Name string
	Image           string
	Manager         string         // who its label says manages it: "Helm", "trainyard"; empty: nobody
	Wanted, Ready   int            // pods
	Pod             corev1.PodSpec // of its template
}

// Operator is an installation of the KubeRay operator.
type Operator struct {
	Workload
	Watches []string // namespaces; none: all of them
	Nodes   []string // where its pods run; nil also where that could not be read
}

// Tag is the image's tag, "v1.6.2"; empty where it has only a digest.
func (w Workload) Tag() string { return imageTag(w.Image) }

func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(path.Base(image), ":")
	return tag
}

// imageName is the last part of an image's repository: registries that mirror
// others keep it.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name, _, _ := strings.Cut(path.Base(image), ":")
	return name
}

// roleOf knows a workload, from wherever it was installed, by its images, the
// KubeRay operator also by its labels. It returns the image, too.
func roleOf(labels map[string]string, pod corev1.PodSpec) (Role, string) {
	for _, c := range pod.Containers {
		name := imageName(c.Image)
		switch {
		case name == "k8s-device-plugin" && !otherUse(c), name == "nvidia-gpu-device-plugin":
			return GPUPlugin, c.Image
		case strings.HasPrefix(name, "aws-efa-k8s-device-plugin"):
			return EFAPlugin, c.Image
		case name == "k8s-dra-driver-gpu", name == "dra-driver-nvidia-gpu", name == "k8s-dra-driver":
			return GPUDRA, c.Image
		case strings.Contains(name, "dranet"):
			return EFADRA, c.Image
		case name == "gpu-operator":
			return GPUOperator, c.Image
		case name == "cluster-autoscaler":
			return Autoscaler, c.Image
		case strings.Contains(name, "kuberay-operator"), name == "operator" && strings.Contains(c.Image, "kuberay"):
			return kubeRay, c.Image
		}
	}
	if len(pod.Containers) > 0 &&
		(labels["app.kubernetes.io/name"] == "kuberay-operator" || labels["app.kubernetes.io/component"] == "kuberay-operator") {
		return kubeRay, pod.Containers[0].Image
	}
	return "", ""
}

// otherUse tells whether a container of the NVIDIA device plugin's image does
// something else: that image also labels nodes, and shares GPUs by MPS.
func otherUse(c corev1.Container) bool {
	words := strings.Join(append(append([]string{c.Name}, c.Command...), c.Args...), " ")
	return strings.Contains(words, "gpu-feature-discovery") || strings.Contains(words, "mps-control-daemon")
}

// deployments finds the operators of KubeRay, and what else matters.
func (e eye) deployments(ctx context.Context) (operators Part[[]Operator], others Part[[]Workload]) {
	var kubeRays []appsv1.Deployment
	err := each(ctx, e, func() client.ObjectList { return &appsv1.DeploymentList{} }, client.ListOptions{}, func(d *appsv1.Deployment) {
		role, image := roleOf(d.Labels, d.Spec.Template.Spec)
		w := Workload{
			Role: role, Kind: "Deployment", Namespace: d.Namespace, Name: d.Name, Image: image, Manager: d.Labels[kube.ManagedByLabel],
			Wanted: int(replicas(d.Spec.Replicas)), Ready: int(d.Status.ReadyReplicas), Pod: d.Spec.Template.Spec,
		}
		switch role {
		case "":
		case kubeRay:
			kubeRays = append(kubeRays, *d)
			operators.Value = append(operators.Value, Operator{Workload: w, Watches: watched(w.Pod)})
		default:
			others.Value = append(others.Value, w)
		}
	})
	operators.Err, others.Err = err, err
	for i := range operators.Value {
		operators.Value[i].Nodes = e.nodesOf(ctx, kubeRays[i])
	}
	return operators, others
}

// replicas is how many pods a Deployment is to have: one where it does not say.
func replicas(set *int32) int32 {
	if set == nil {
		return 1
	}
	return *set
}

// watched reads the namespaces from the operator's flag: one or two dashes, its
// value behind = or the next word.
func watched(pod corev1.PodSpec) []string {
	for _, c := range pod.Containers {
		words := append(slices.Clone(c.Command), c.Args...)
		for i, word := range words {
			name, value, joined := strings.Cut(word, "=")
			if strings.TrimLeft(name, "-") != "watch-namespace" || !strings.HasPrefix(name, "-") {
				continue
			}
			if !joined && i+1 < len(words) {
				value = words[i+1]
			}
			return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
		}
	}
	return nil
}

// nodesOf returns where the pods of a Deployment run.
func (e eye) nodesOf(ctx context.Context, d appsv1.Deployment) []string {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil
	}
	var nodes []string
	err = each(ctx, e, func() client.ObjectList { return &corev1.PodList{} },
		client.ListOptions{Namespace: d.Namespace, LabelSelector: selector}, func(p *corev1.Pod) {
			if p.Spec.NodeName != "" && !slices.Contains(nodes, p.Spec.NodeName) {
				nodes = append(nodes, p.Spec.NodeName)
			}
		})
	if err != nil {
		return nil
	}
	return nodes
}

func (e eye) daemonSets(ctx context.Context) ([]Workload, error) {
	var found []Workload
	err := each(ctx, e, func() client.ObjectList { return &appsv1.DaemonSetList{} }, client.ListOptions{}, func(d *appsv1.DaemonSet) {
		if role, image := roleOf(d.Labels, d.Spec.Template.Spec); role != "" {
			found = append(found, Workload{
				Role: role, Kind: "DaemonSet", Namespace: d.Namespace, Name: d.Name, Image: image, Manager: d.Labels[kube.ManagedByLabel],
				Wanted: int(d.Status.DesiredNumberScheduled), Ready: int(d.Status.NumberReady), Pod: d.Spec.Template.Spec,
			})
		}
	})
	return found, err
}
