package kubernetes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// onePod is the place that a pod takes on a node.
var onePod = resource.MustParse("1")

// nodes keeps of each node what placing and judging it need; most of a node is
// the list of its images.
func (e eye) nodes(ctx context.Context) ([]corev1.Node, error) {
	var all []corev1.Node
	err := each(ctx, e, func() client.ObjectList { return &corev1.NodeList{} }, client.ListOptions{}, func(n *corev1.Node) {
		all = append(all, corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels},
			Spec:       corev1.NodeSpec{Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable},
			Status: corev1.NodeStatus{
				Capacity: n.Status.Capacity, Allocatable: n.Status.Allocatable, Conditions: n.Status.Conditions,
				NodeInfo: corev1.NodeSystemInfo{KubeletVersion: n.Status.NodeInfo.KubeletVersion, OSImage: n.Status.NodeInfo.OSImage},
			},
		})
	})
	return all, err
}

// Use is what the pods on a node have asked for.
type Use struct {
	All     corev1.ResourceList
	Lasting corev1.ResourceList // part of All: of DaemonSets and static pods, which do not end
	Holders []string            // namespace/name of pods that hold GPUs
}

// unfinished selects pods that take room on a node.
var unfinished = fields.AndSelectors(
	fields.OneTermNotEqualSelector("spec.nodeName", ""),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)

// use adds up the requests of all pods by node. The pods of the cluster that is
// to be made are left out: where it is there already, they give way to
// themselves.
func (e eye) use(ctx context.Context) (map[string]Use, error) {
	nodes := map[string]Use{}
	err := each(ctx, e, func() client.ObjectList { return &corev1.PodList{} }, client.ListOptions{FieldSelector: unfinished}, func(p *corev1.Pod) {
		if e.isOwn(p) {
			return
		}
		takes := asked(p)
		use, known := nodes[p.Spec.NodeName]
		if !known {
			use = Use{All: corev1.ResourceList{}, Lasting: corev1.ResourceList{}}
		}
		add(use.All, takes)
		if lasting(p) {
			add(use.Lasting, takes)
		} else if count(takes, gpuResource) > 0 {
			use.Holders = append(use.Holders, p.Namespace+"/"+p.Name)
		}
		nodes[p.Spec.NodeName] = use
	})
	return nodes, err
}

func (e eye) isOwn(p *corev1.Pod) bool {
	return e.need.Cluster != "" && p.Namespace == e.cluster.Namespace && p.Labels[rayClusterLabel] == e.need.Cluster
}

// own adds up what the pods of the same Ray cluster ask for.
func (e eye) own(ctx context.Context) (corev1.ResourceList, error) {
	sum := corev1.ResourceList{}
	if e.need.Cluster == "" {
		return sum, nil
	}
	options := e.here()
	options.LabelSelector = labels.SelectorFromSet(labels.Set{rayClusterLabel: e.need.Cluster})
	err := each(ctx, e, func() client.ObjectList { return &corev1.PodList{} }, options, func(p *corev1.Pod) { add(sum, asked(p)) })
	return sum, err
}

// asked is what a pod takes of a node, its place included.
func asked(p *corev1.Pod) corev1.ResourceList {
	all := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{UseStatusResources: true})
	all[corev1.ResourcePods] = onePod
	return all
}

func lasting(p *corev1.Pod) bool {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	owner := metav1.GetControllerOf(p)
	return owner != nil && owner.Kind == "DaemonSet"
}
