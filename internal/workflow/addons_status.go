package workflow

import (
	"context"
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/internal/addons"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/target/kubernetes"
)

// AddonState is how an add-on stands in a cluster.
type AddonState string

// States of an add-on.
const (
	AddonInstalled AddonState = "installed" // by us
	AddonFound     AddonState = "found"     // somebody else's
	AddonBuiltIn   AddonState = "built in"  // nodes offer the devices, and nothing is seen that does it
	AddonMissing   AddonState = "missing"
	AddonUnused    AddonState = "unused" // no node has such devices
	AddonUnknown   AddonState = "unknown"
)

// AddonStatus is how one add-on stands.
type AddonStatus struct {
	Name      addons.Name `json:"name"`
	Title     string      `json:"title"`
	State     AddonState  `json:"state"`
	Providers []string    `json:"providers,omitempty"` // who provides what it would
	Version   string      `json:"version,omitempty"`   // of what is there
	Ready     int         `json:"ready"`               // pods
	Wanted    int         `json:"wanted"`

	Nodes   int                  `json:"nodes,omitempty"`   // that have the devices, and are up
	Offered int                  `json:"offered,omitempty"` // of those, how many offer them to pods
	Down    []string             `json:"down,omitempty"`    // nodes that have them and take no pods
	Lacking []kubernetes.Finding `json:"lacking,omitempty"` // why nodes do not offer them
	Problem string               `json:"problem,omitempty"` // what could not be seen
}

// What says in a line what there is.
func (s AddonStatus) What() string {
	switch s.State {
	case AddonInstalled, AddonFound:
		return string(s.State) + " " + strings.Join(s.Providers, "; ")
	case AddonBuiltIn:
		return s.offered() + ", by something built into them"
	case AddonUnused:
		return "no node has " + s.devices()
	case AddonMissing:
		return "none is there"
	case AddonUnknown:
	}
	return "could not be read: " + s.Problem
}

// offered is as in "2 of 3 nodes offer nvidia.com/gpu".
func (s AddonStatus) offered() string {
	return fmt.Sprintf("%d of %s offer %s", s.Offered, plural(s.Nodes, "node"), s.devices())
}

func (s AddonStatus) devices() string { return string(provision(s.Name)) }

// provision is what an add-on provides.
func provision(name addons.Name) kubernetes.Provision {
	return map[addons.Name]kubernetes.Provision{
		addons.NVIDIA: kubernetes.GPUs, addons.EFA: kubernetes.EFA, addons.KubeRay: kubernetes.KubeRay,
	}[name]
}

// AddonsStatus says how add-ons stand in the settings' cluster.
func (w Workspace) AddonsStatus(ctx context.Context, req AddonsRequest) (*kube.Cluster, []AddonStatus, error) {
	cluster, state, err := w.lookAround(ctx, req.Config)
	if err != nil {
		return nil, nil, err
	}
	return cluster, statusOf(state, req.names()), nil
}

// statusOf judges how add-ons stand, from a cluster as it was seen.
func statusOf(state kubernetes.State, names []addons.Name) []AddonStatus {
	all := make([]AddonStatus, 0, len(names))
	for _, name := range names {
		s := AddonStatus{Name: name, Title: name.Title()}
		s.judge(state)
		all = append(all, s)
	}
	return all
}

func (s *AddonStatus) judge(state kubernetes.State) {
	providers, err := state.Providers(provision(s.Name))
	for _, p := range providers {
		s.Providers = append(s.Providers, p.String())
		s.Ready += p.Ready
		s.Wanted += p.Wanted
		if s.Version == "" {
			s.Version = p.Version
		}
		if p.Ours {
			s.State = AddonInstalled
		}
	}
	if s.Name != addons.KubeRay {
		offer := state.Offer(provision(s.Name))
		s.Nodes, s.Offered, s.Down, s.Lacking = offer.Nodes, offer.Offered, offer.Down, offer.Lacking
		if err == nil {
			err = state.Nodes.Err
		}
	}
	switch {
	case s.State == AddonInstalled:
	case len(providers) > 0:
		s.State = AddonFound
	case err != nil:
		s.State, s.Problem = AddonUnknown, err.Error()
	case s.Name != addons.KubeRay && s.Nodes+len(s.Down) == 0:
		s.State = AddonUnused
	case s.Nodes > 0 && s.Offered == s.Nodes:
		s.State = AddonBuiltIn
	default:
		s.State = AddonMissing
	}
}
