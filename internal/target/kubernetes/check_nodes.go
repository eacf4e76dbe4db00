package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/internal/instancetype"
)

// node is one that workers might go to, with what is known of its type.
type node struct {
	*corev1.Node
	typeName string            // its label; empty: none
	typ      instancetype.Type // zero where the table does not know it
	hasGPUs  bool              // by what it has, its type, or its labels
}

func newNode(n *corev1.Node, s State, types map[string]instancetype.Type) node {
	it := node{Node: n, typeName: n.Labels[corev1.LabelInstanceTypeStable]}
	it.typ = types[it.typeName]
	it.hasGPUs = it.typ.GPUs > 0 || count(n.Status.Capacity, gpuResource) > 0 || driverDevices(s, isGPUDriver, n.Name) > 0
	for _, label := range []string{"nvidia.com/gpu.present", "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "feature.node.kubernetes.io/pci-10de.present"} {
		it.hasGPUs = it.hasGPUs || n.Labels[label] != "" && n.Labels[label] != "false"
	}
	return it
}

func (it node) gpus() int { return count(it.Status.Allocatable, gpuResource) }
func (it node) efa() int  { return count(it.Status.Allocatable, efaResource) }

// up tells whether the node takes pods now.
func (it node) up() bool { return it.down() == "" }

// down says why a node takes no pods now; empty where it does.
func (it node) down() string {
	for _, c := range it.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return "not ready: " + strings.TrimSpace(c.Reason+" "+c.Message)
		}
	}
	if it.Spec.Unschedulable {
		return "cordoned"
	}
	return ""
}

// workerNodes judges which nodes there are for workers, whatever room they have.
func (v view) workerNodes() []Finding {
	const check = "nodes"
	if v.Nodes.Err != nil {
		return unseen(check, v.Nodes.Err, "whether GPUs, EFA and room are there is not known", "ask an administrator for the right to list nodes: kubectl auth can-i list nodes")
	}
	kind := v.kindOfNodes()
	all := fold(v.nodes, func(it node) (Finding, bool) {
		return Finding{
			Level: Warning, Check: check, What: it.down(),
			Consequence: "no new pod goes there", Remedy: "kubectl describe node {nodes}; a cordoned one: kubectl uncordon {nodes}",
		}, !it.up()
	})
	usable := v.placeable()
	if len(usable) < v.need.Nodes {
		all = append(all, v.shutOut()...)
	}
	switch {
	case len(v.nodes) == 0:
		return append(all, v.orAutoscaler(Finding{
			Check: check, What: "no node" + kind + v.otherTypes(), Consequence: "workers stay Pending",
			Remedy: "add such nodes, or name the type that there is with --node-type",
		}))
	case len(usable) < v.need.Nodes:
		return append(all, v.fewer(len(usable), Finding{
			Check: check, What: fmt.Sprintf("%d of %s%s open to workers, and %d wanted", len(usable), counted(len(v.nodes), "node"), kind, v.need.Nodes),
			Remedy: "add nodes, or let these take workers",
		}))
	}
	return append(all, ok(check, "%s%s, %d open to workers, %d wanted", counted(len(v.nodes), "node"), kind, len(usable), v.need.Nodes)...)
}

// kindOfNodes says behind the word node which of them workers are meant for.
func (v view) kindOfNodes() string {
	switch {
	case v.need.Type.Name != "":
		return " of type " + v.need.Type.Name
	case v.gpusAsked() > 0:
		return " with GPUs"
	}
	return ""
}

// placeable are the nodes that are up and that a worker may go to.
func (v view) placeable() []node {
	var free []node
	for _, it := range v.nodes {
		if it.up() && Between(&v.need.Worker, it.Node).None() {
			free = append(free, it)
		}
	}
	return free
}

// shutOut says why nodes cannot be used that are up.
func (v view) shutOut() []Finding {
	return fold(v.nodes, func(it node) (Finding, bool) {
		o := Between(&v.need.Worker, it.Node)
		f := Finding{Level: Warning, Check: "nodes", What: o.String(), Consequence: "no worker goes there"}
		switch {
		case len(o.Labels) > 0:
			f.Remedy = "kubectl label node {nodes} " + strings.Join(o.Labels, " ")
		case len(o.Taints) > 0:
			f.Remedy = "in trainyard.yaml, kubernetes.tolerations: [" + toleration(o.Taints[0]) + "]; the nodes may be meant for others"
		default:
			f.Remedy = "choose other nodes in trainyard.yaml, or label these: kubectl get node {nodes} --show-labels"
		}
		return f, it.up() && !o.None()
	})
}

// toleration is the one of a taint written as key=value:effect, as the run file
// has it.
func toleration(taint string) string {
	keyValue, effect, _ := strings.Cut(taint, ":")
	key, value, valued := strings.Cut(keyValue, "=")
	if valued {
		return fmt.Sprintf("{key: %s, operator: Equal, value: %q, effect: %s}", key, value, effect)
	}
	return fmt.Sprintf("{key: %s, operator: Exists, effect: %s}", key, effect)
}

// otherTypes tells which types with GPUs the cluster has instead.
func (v view) otherTypes() string {
	types := map[string]bool{}
	for _, it := range v.every {
		if it.hasGPUs && it.typeName != "" {
			types[it.typeName] = true
		}
	}
	if len(types) == 0 {
		return ""
	}
	return "; there are some of " + few(slices.Sorted(maps.Keys(types)), manyValues)
}

// fewer is for a finding by which so many workers can run and no more: the Ray
// cluster has as many as there are nodes for, and at most as asked for.
func (v view) fewer(workers int, f Finding) Finding {
	f.Consequence = "no worker runs"
	if f = v.orAutoscaler(f); workers == 0 {
		return f
	}
	f.Level = Warning
	f.Consequence = "the job runs on " + counted(workers, "node") + ", or waits for more"
	if workers == 1 {
		f.Consequence = "the job runs on 1 node, where nothing shows what the network does, or waits for more"
	}
	return f
}

// orAutoscaler makes a finding of missing nodes a problem, or a warning where
// the cluster can make nodes.
func (v view) orAutoscaler(f Finding) Finding {
	f.Level = Problem
	if who := v.Autoscaler(); who != "" {
		f.Level = Warning
		f.Consequence = "workers wait until " + who + " makes the nodes"
	}
	return f
}

// Autoscaler names what makes nodes in this cluster; empty where nothing was
// seen that does.
func (s State) Autoscaler() string {
	if len(s.Groups.Value["karpenter.sh"]) > 0 {
		return "Karpenter"
	}
	for _, w := range s.Helpers.Value {
		if w.Role == Autoscaler && w.Ready > 0 {
			return "the cluster-autoscaler"
		}
	}
	return ""
}

// zones judges whether enough nodes are in one zone.
func (v view) zones() []Finding {
	usable := v.placeable()
	if !v.need.OneZone || v.need.Nodes < 2 || len(usable) < v.need.Nodes {
		return nil // there is nothing to judge, or too few nodes anyway
	}
	byZone := map[string]int{}
	for _, it := range usable {
		byZone[it.Labels[corev1.LabelTopologyZone]]++
	}
	unlabelled := byZone[""]
	delete(byZone, "")
	best := 0
	var parts []string
	for _, zone := range slices.Sorted(maps.Keys(byZone)) {
		best = max(best, byZone[zone])
		parts = append(parts, fmt.Sprintf("%d in %s", byZone[zone], zone))
	}
	switch {
	case best >= v.need.Nodes:
		return ok("zone", "enough nodes in one zone: %s", few(parts, manyNodes))
	case unlabelled > 0:
		return []Finding{{
			Level: Unknown, Check: "zone", What: counted(unlabelled, "node") + " without the label " + corev1.LabelTopologyZone,
			Consequence: "EFA works within one zone only", Remedy: "kubectl get nodes -L " + corev1.LabelTopologyZone,
		}}
	}
	return []Finding{v.fewer(best, Finding{
		Check: "zone", What: fmt.Sprintf("no zone has %d nodes, and EFA does not reach beyond one: %s", v.need.Nodes, few(parts, manyNodes)),
		Remedy: "add nodes in one zone",
	})}
}
