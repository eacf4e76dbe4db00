// Package target says what every place that can run a job has in common. Each
// place (this machine, a Kubernetes cluster, …) lies in a package below it and
// ends in one thing: the address of a Ray dashboard.
package target

import (
	"context"
	"errors"

	"github.com/trainyard/trainyard/internal/rayjob"
)

// Cluster is a Ray cluster that is up, wherever it is.
type Cluster interface {
	ID() string
	Endpoint() Endpoint
	Facts() Facts
	// LogReader reads the log files of the cluster's nodes; nil where only the
	// dashboard does.
	LogReader(ray *rayjob.Client) rayjob.LogReader
	// Lost watches what the cluster's jobs cannot do without, where that may go and
	// Ray's API still answer. It returns an [ErrLost] that says why as soon as they
	// are lost, and nil where ctx ends before or there is nothing to watch.
	Lost(ctx context.Context) error

	// Detach leaves the cluster to the job that runs on it.
	Detach() error
	// Keep leaves the cluster for the next run. An error says why it cannot be:
	// then it is as before.
	Keep(ctx context.Context) error
	// End removes the cluster and tells progress, if not nil, what holds it up. It
	// may be called again for one that is gone.
	End(ctx context.Context, progress func(string)) error
}

// ErrLost is that the head of a Ray cluster went away, and with it all jobs: their
// drivers run there, and a new head knows nothing of them.
var ErrLost = errors.New("the head of the Ray cluster is gone, and the job with it")

// Endpoint is how a Ray cluster's HTTP API is reached.
type Endpoint struct {
	Address string // base URL, "http://127.0.0.1:8265"
	Token   string // bearer token, a secret
}

// Facts are what is known of a cluster without running a job on it.
type Facts struct {
	Nodes          int // nodes that take work
	WorkersPerNode int // training workers that fit on one
	GPUs           int // GPUs in all
	Hosts          int // machines that the nodes are, to NCCL
	// InstanceType is EC2's, of the nodes that take work; empty where not known.
	InstanceType string
}

// Workers is how many training workers run at once.
func (f Facts) Workers() int { return f.Nodes * f.WorkersPerNode }
