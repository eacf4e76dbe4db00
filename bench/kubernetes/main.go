// Kubernetes measures what a cluster of 1,000 nodes with 8 GPUs and 32 EFA
// interfaces each costs trainyard itself: processor time, memory, and requests to
// the API server, in a process for each of its commands.
//
// The control plane, the KubeRay operator and the nodes, which kwok plays, are
// those of test/cluster; what would be Ray is a server of this program that
// answers as Ray does. What they take is in the time that a command lasts, and
// not in ours, which is processor time. Of train, "theirs" is how long it was
// from its start until the last pod was ready, as another watch saw it, and
// "after" what it took from there on. Requests are counted where they leave the
// process; a list that has neither a selector nor pages, nor is of one namespace,
// says "all".
//
// Run it from the repository's root:
//
//	go run -C test/cluster . -- go run ./bench/kubernetes
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

// nodeType is the instance type of the nodes.
const nodeType = "p5.48xlarge"

// Goals of all commands together: issue D asks for them.
const (
	goalTime   = 10 * time.Second
	goalMemory = 500e6 // bytes, of the largest
)

type options struct {
	nodes, workers        int
	phase                 string
	kubeconfig, namespace string
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 1000, "nodes of type "+nodeType)
	flag.IntVar(&o.workers, "workers", 1000, "workers of the Ray cluster")
	flag.StringVar(&o.phase, "phase", "", "do this and nothing else, as the benchmark's own child")
	flag.StringVar(&o.namespace, "namespace", "", "of the child")
	flag.Parse()
	o.kubeconfig = os.Getenv("TRAINYARD_TEST_KUBECONFIG")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options) error {
	control := os.Getenv("TRAINYARD_TEST_CONTROL")
	switch {
	case o.phase != "":
		return runPhase(ctx, out, o)
	case o.kubeconfig == "" || control == "":
		return errors.New("needs a Kubernetes: go run -C test/cluster . -- go run ./bench/kubernetes")
	case o.workers < 1 || o.nodes < o.workers:
		return fmt.Errorf("-nodes %d -workers %d: need at least a worker, and a node for each", o.nodes, o.workers)
	}
	l, err := newLab(ctx, o, control)
	if err != nil {
		return err
	}
	defer l.close()
	if _, err := fmt.Fprintf(out, "%d nodes of type %s (made in %.0fs), %d workers\n\n", o.nodes, nodeType, l.made.Seconds(), o.workers); err != nil {
		return err
	}
	return l.measure(ctx, out, o)
}
