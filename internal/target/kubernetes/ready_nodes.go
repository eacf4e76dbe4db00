package kubernetes

import (
	"context"
	"time"

	"github.com/trainyard/trainyard/internal/kube"
)

// nodesAge is how old what is known of the nodes may be while pods are waited
// for, nodesPatience how long reading them again may take.
const (
	nodesAge      = 30 * time.Second
	nodesPatience = 10 * time.Second
)

// lastNodes are a cluster's nodes as they were last seen.
type lastNodes struct {
	*kube.Nodes
	mayGrow bool
	at      time.Time
}

// judge judges by nodes that are not older than nodesAge. That waiting is in vain
// it says only by the nodes of now: a plugin, or a node, may just have come.
func (n *lastNodes) judge(ctx context.Context, k *kube.Cluster, seen kube.Seen, judge func(*kube.Nodes) readiness) readiness {
	if seen.Problem == nil && time.Since(n.at) > nodesAge {
		n.renew(ctx, k)
	}
	now := judge(n.Nodes)
	if now.hopeless() != nil && n.renew(ctx, k) {
		return judge(n.Nodes)
	}
	return now
}

// renew reads the nodes again. Those that cannot be read stay as they were.
func (n *lastNodes) renew(ctx context.Context, k *kube.Cluster) bool {
	ctx, cancel := context.WithTimeout(ctx, nodesPatience)
	defer cancel()
	nodes, err := eye{cluster: k}.nodes(ctx)
	n.at = time.Now()
	if err != nil {
		return false
	}
	n.Nodes = kube.NodesOf(nodes, n.mayGrow)
	return true
}
