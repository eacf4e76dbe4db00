package kube

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
)

// Nodes are those that pods may run on, ready to be asked about thousands of
// pods. nil are none. They are for one goroutine at a time.
type Nodes struct {
	all      []corev1.Node
	mayGrow  bool
	byName   map[string]*corev1.Node
	selected map[string]offer // by selector
}

// An offer is what the nodes have that a selector finds.
type offer struct {
	nodes []string
	most  map[corev1.ResourceName]most
}

// most is the most that a node has of a resource, be it free or used.
type most struct {
	quantity resource.Quantity
	node     string
}

// NodesOf prepares nodes. mayGrow says that the cluster makes more where pods want
// them: what no node has may come with those.
func NodesOf(all []corev1.Node, mayGrow bool) *Nodes {
	n := &Nodes{all: all, mayGrow: mayGrow, byName: make(map[string]*corev1.Node, len(all)), selected: map[string]offer{}}
	for i := range all {
		n.byName[all[i].Name] = &all[i]
	}
	return n
}

// named returns a node, nil where it is not among them.
func (n *Nodes) named(name string) *corev1.Node {
	if n == nil {
		return nil
	}
	return n.byName[name]
}

// offer returns what the nodes have that have the labels of a pod's nodeSelector.
func (n *Nodes) offer(selector map[string]string) offer {
	if n == nil {
		return offer{}
	}
	key := labels.Set(selector).String()
	o, known := n.selected[key]
	if !known {
		o = n.offerOf(labels.SelectorFromSet(selector))
		n.selected[key] = o
	}
	return o
}

func (n *Nodes) offerOf(selector labels.Selector) offer {
	o := offer{most: map[corev1.ResourceName]most{}}
	for i := range n.all {
		node := &n.all[i]
		if !selector.Matches(labels.Set(node.Labels)) {
			continue
		}
		o.nodes = append(o.nodes, node.Name)
		for name, has := range node.Status.Allocatable {
			if best, known := o.most[name]; !known || has.Cmp(best.quantity) > 0 {
				o.most[name] = most{has, node.Name}
			}
		}
	}
	return o
}
