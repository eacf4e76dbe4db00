package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trainyard/trainyard/internal/kube"
)

// A Provision is what a cluster as a whole needs, and somebody provides or not.
type Provision string

// Provisions.
const (
	GPUs    Provision = "nvidia.com/gpu"
	EFA     Provision = "vpc.amazonaws.com/efa"
	KubeRay Provision = "KubeRay"
)

// LookAround reads of a cluster what [State.Providers], [State.Offer] and
// [State.NodeTypes] judge by: nodes and what serves all of them.
func LookAround(ctx context.Context, cluster *kube.Cluster) (State, error) {
	s := State{Context: cluster.Context, Server: cluster.Server, Namespace: cluster.Namespace}
	e := eye{cluster: cluster}
	s.Version.Value, s.Version.Err = e.version(ctx)
	if s.Version.Err != nil && !apierrors.IsForbidden(s.Version.Err) {
		return s, fmt.Errorf("asking the cluster for its version: %w", s.Version.Err)
	}
	var all sync.WaitGroup
	see(ctx, &all, &s.Groups, e.groups)
	see(ctx, &all, &s.DaemonSets, e.daemonSets)
	see(ctx, &all, &s.Devices, e.devices)
	see(ctx, &all, &s.Nodes, e.nodes)
	all.Go(func() { s.Operators, s.Helpers = e.deployments(ctx) })
	all.Wait()
	return s, ctx.Err()
}

// A Provider is something in the cluster that provides for a need, from wherever
// it was installed.
type Provider struct {
	Role          Role
	What          string // "daemonset kube-system/nvidia-device-plugin"
	Version       string // tag of its image; may be empty
	Manager       string // who its label says manages it; may be empty
	Ours          bool   // trainyard addons installed it
	Ready, Wanted int    // pods; zero where there is none to be seen
}

// String is as in "daemonset kube-system/x v0.17.0, managed by Helm".
func (p Provider) String() string {
	text := p.What
	if p.Version != "" {
		text += " " + p.Version
	}
	if p.Manager != "" {
		text += ", managed by " + p.Manager
	}
	return text
}

// Providers returns who provides for a need. An error means that not all could
// be seen.
func (s State) Providers(p Provision) ([]Provider, error) {
	switch p {
	case GPUs:
		return s.deviceProviders(isGPUDriver, GPUPlugin, GPUOperator, GPUDRA)
	case EFA:
		return s.deviceProviders(isEFADriver, EFAPlugin, EFADRA)
	case KubeRay:
		var found []Provider
		for _, o := range s.Operators.Value {
			found = append(found, provider(o.Workload))
		}
		return found, s.Operators.Err
	}
	return nil, fmt.Errorf("looking for what provides %q: unknown", p)
}

func (s State) deviceProviders(isDriver func(string) bool, roles ...Role) ([]Provider, error) {
	var found []Provider
	for _, w := range slices.Concat(s.DaemonSets.Value, s.Helpers.Value) {
		if slices.Contains(roles, w.Role) {
			found = append(found, provider(w))
		}
	}
	for _, d := range s.Devices.Value {
		if isDriver(d.Driver) {
			found = append(found, Provider{Role: roles[len(roles)-1], What: "DRA driver " + d.Driver})
		}
	}
	return found, errors.Join(s.DaemonSets.Err, s.Helpers.Err, s.devicesUnseen())
}

func provider(w Workload) Provider {
	kind := map[string]string{"DaemonSet": "daemonset", "Deployment": "deployment"}[w.Kind]
	return Provider{
		Role: w.Role, What: kind + " " + w.Namespace + "/" + w.Name, Version: w.Tag(), Manager: w.Manager,
		Ours: w.Manager == kube.Manager, Ready: w.Ready, Wanted: w.Wanted,
	}
}

// Offer says which nodes that have a device offer it to pods.
type Offer struct {
	Nodes   int       // that have the device and are up
	Offered int       // of those, how many offer it
	Down    []string  // that have it and take no pods now
	Lacking []Finding // why the others do not, and what to do; one finding for nodes alike
}

// Offer judges which nodes offer GPUs or EFA interfaces. What a node has its
// instance type says, or a label.
func (s State) Offer(p Provision) Offer {
	v := newView(s, Need{})
	t, resource := gpuTrouble, gpuResource
	if p == EFA {
		t, resource = efaTrouble, efaResource
	}
	var offer Offer
	var lacking []node
	for _, it := range v.gpuNodes() {
		switch {
		case p == EFA && it.typ.EFA == 0 && it.efa() == 0:
		case !it.up():
			offer.Down = append(offer.Down, it.Name)
		case count(it.Status.Allocatable, resource) > 0:
			offer.Nodes++
			offer.Offered++
		default:
			offer.Nodes++
			lacking = append(lacking, it)
		}
	}
	offer.Lacking = fold(lacking, func(it node) (Finding, bool) {
		f := Finding{Level: Problem, Check: string(p), Consequence: noWorker}
		f.What, f.Remedy = v.missing(it, t)
		return f, true
	})
	return offer
}

// NodeTypes returns the instance types of nodes with GPUs that the cluster has,
// also those that the table of types does not know, and whether all of its nodes
// have GPUs.
func (s State) NodeTypes() (types []string, allGPU bool) {
	v := newView(s, Need{})
	nodes := v.gpuNodes()
	for _, it := range nodes {
		if it.typeName != "" && !slices.Contains(types, it.typeName) {
			types = append(types, it.typeName)
		}
	}
	slices.Sort(types)
	return types, len(nodes) > 0 && len(nodes) == len(v.every)
}

// gpuNodes are all nodes with GPUs, whatever a run is meant for.
func (v view) gpuNodes() []node {
	return slices.DeleteFunc(slices.Clone(v.every), func(it node) bool { return !it.hasGPUs })
}
