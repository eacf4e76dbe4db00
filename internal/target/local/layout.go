package local

import (
	"fmt"

	"github.com/trainyard/trainyard/internal/fault"
)

// Layout is how a cluster is spread over this machine. It is also what two
// runs must agree in to share a kept cluster.
type Layout struct {
	WorkersPerNode int        `json:"workersPerNode"`
	GPUs           [][]string `json:"gpus"` // for each node the GPUs that it sees
	AsHosts        bool       `json:"asHosts"`
}

// Nodes is the number of nodes that take work.
func (l Layout) Nodes() int { return len(l.GPUs) }

// TotalGPUs counts the GPUs of all nodes.
func (l Layout) TotalGPUs() int {
	total := 0
	for _, node := range l.GPUs {
		total += len(node)
	}
	return total
}

// Deal spreads workers over nodes, and where the machine has GPUs gives each
// worker one of its own. workersPerNode 0 means the GPUs there are for each
// node, or one worker where there are none. Fewer nodes than asked for come
// with a note that says why; a node that cannot be filled is an error.
func Deal(nodes, workersPerNode int, gpus []string) (layout Layout, note string, err error) {
	if nodes < 1 {
		return Layout{}, "", fault.WithCode(fault.Usage, fmt.Errorf("dealing workers: %d nodes, want at least 1", nodes))
	}
	if len(gpus) == 0 {
		return Layout{WorkersPerNode: max(workersPerNode, 1), GPUs: make([][]string, nodes)}, "", nil
	}
	if workersPerNode > len(gpus) {
		err := fmt.Errorf("dealing GPUs: %d workers on a node, but this machine has %s", workersPerNode, count(len(gpus), "GPU"))
		return Layout{}, "", fault.WithCode(fault.Usage, fault.WithHint(
			fmt.Sprintf("use --workers-per-node %d or less; two workers never share a GPU", len(gpus)), err))
	}
	perNode := workersPerNode
	if perNode == 0 {
		perNode = max(len(gpus)/nodes, 1)
	}
	if fit := len(gpus) / perNode; fit < nodes {
		note = fmt.Sprintf("%s instead of %d: this machine has %s, %s to a node",
			count(fit, "node"), nodes, count(len(gpus), "GPU"), count(perNode, "worker"))
		nodes = fit
	}
	dealt := make([][]string, nodes)
	for i := range dealt {
		dealt[i] = gpus[i*perNode : (i+1)*perNode]
	}
	return Layout{WorkersPerNode: perNode, GPUs: dealt}, note, nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
