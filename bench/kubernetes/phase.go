package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/trainyard/trainyard/internal/instancetype"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/raycluster"
	"github.com/trainyard/trainyard/internal/target/kubernetes"
)

// clusterName is the name of the RayCluster.
const clusterName = "bench"

// phases are what a child process does, each as the command of that name does it.
var phases = []struct {
	name string
	do   func(context.Context, place) (said string, err error)
}{
	{"check", check},
	{"render", render},
	{"train", train},
	{"status", status},
	{"verdict", verdict},
	{"down", down},
}

// place is where a phase works.
type place struct {
	cluster *kube.Cluster
	workers int
}

// outcome is what a child process tells its parent.
type outcome struct {
	Said     string
	Requests map[string]int // to the API server
	Ended    time.Time
}

// runPhase is the child process.
func runPhase(ctx context.Context, out io.Writer, o options) error {
	count := counter{seen: map[string]int{}}
	cluster, err := kube.Connect(kube.Access{Kubeconfig: o.kubeconfig, Namespace: o.namespace, Transport: count.wrap})
	if err != nil {
		return err
	}
	for _, p := range phases {
		if p.name != o.phase {
			continue
		}
		said, err := p.do(ctx, place{cluster, o.workers})
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(outcome{said, count.seen, time.Now()})
	}
	return fmt.Errorf("-phase %q: there is none", o.phase)
}

// owner is whose the RayCluster is.
func owner() kube.Owner { return kube.Owner{Cluster: clusterName, User: "bench"} }

func spec(p place) raycluster.Spec {
	kind, _ := instancetype.Lookup(nodeType)
	s := raycluster.Spec{
		Name: clusterName, Namespace: p.cluster.Namespace, Owner: owner().User, Image: "registry.example/ray:2.58.0", RayVersion: "2.58.0",
		Workers: p.workers, Worker: raycluster.NodeOf(kind),
	}
	return s
}

// need is what check judges by.
func need(p place) (kubernetes.Need, error) {
	cluster, err := raycluster.Build(spec(p))
	if err != nil {
		return kubernetes.Need{}, err
	}
	kind, err := instancetype.Lookup(nodeType)
	return kubernetes.NeedOf(cluster, kind, "13.0.2"), err
}

func check(ctx context.Context, p place) (string, error) {
	n, err := need(p)
	if err != nil {
		return "", err
	}
	state, err := kubernetes.Look(ctx, p.cluster, n)
	if err != nil {
		return "", err
	}
	findings := kubernetes.Judge(state, n)
	levels := map[kubernetes.Level]int{}
	for _, f := range findings {
		levels[f.Level]++
	}
	return fmt.Sprintf("%d nodes, findings %v", len(state.Nodes.Value), levels), nil
}

func render(_ context.Context, p place) (string, error) {
	cluster, err := raycluster.Build(spec(p))
	if err != nil {
		return "", err
	}
	text, err := raycluster.YAML(cluster)
	return fmt.Sprintf("%d bytes", len(text)), err
}

// train is all of it that is about Kubernetes: preflight, RayCluster, wait.
func train(ctx context.Context, p place) (string, error) {
	n, err := need(p)
	if err != nil {
		return "", err
	}
	state, err := kubernetes.Look(ctx, p.cluster, n)
	if err != nil {
		return "", err
	}
	s := spec(p)
	if fit := kubernetes.WorkersThatFit(state, n); fit != s.Workers {
		return "", fmt.Errorf("%d of %d workers fit", fit, s.Workers)
	}
	_ = kubernetes.Judge(state, n)
	cluster, err := raycluster.Build(s)
	if err != nil {
		return "", err
	}
	told := 0
	up, err := kubernetes.Up(ctx, p.cluster, kubernetes.Order{
		RayCluster: cluster, Owner: owner(), Nodes: state.Nodes.Value,
		Progress: func(string) { told++ },
	})
	if err != nil {
		return "", err
	}
	if _, err := kubernetes.ImageOf(ctx, p.cluster, clusterName); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d workers, told %d times how far it is", s.Workers, told), up.Detach()
}

func status(ctx context.Context, p place) (string, error) {
	s, err := kubernetes.StatusOf(ctx, p.cluster)
	if err != nil {
		return "", err
	}
	if len(s.Clusters) != 1 || len(s.Clusters[0].Pods) != p.workers+1 || s.Problem+s.Clusters[0].Problem != "" {
		return "", fmt.Errorf("status: %d clusters, %s", len(s.Clusters), s.Problem)
	}
	text, err := json.Marshal(s)
	return fmt.Sprintf("%d pods, %d jobs, %d bytes of JSON", len(s.Clusters[0].Pods), len(s.Clusters[0].Jobs), len(text)), err
}

func down(ctx context.Context, p place) (string, error) {
	told := 0
	err := kubernetes.Delete(ctx, p.cluster, owner(), clusterName, func(string) { told++ })
	return fmt.Sprintf("told %d times what it waits for", told), err
}
