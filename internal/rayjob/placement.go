package rayjob

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Placement is how far Ray has found room for what a job has asked for. A job
// none of which is placed goes on for ever: Ray waits for nodes that may come.
type Placement struct {
	// Placed tells whether anything has room that asked for some.
	Placed bool
	// Waiting are the resources of each bundle or actor that has none yet.
	Waiting []Resources
}

// Resources are amounts by Ray's names: CPU, GPU, memory in bytes, …
type Resources map[string]float64

// String is like "1 CPU and 1 GPU".
func (r Resources) String() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		words = append(words, fmt.Sprintf("%g %s", r[name], name))
	}
	return strings.Join(words, " and ")
}

// placementGroup is a set of bundles that Ray places together: the workers of a
// Ray Train job are one.
type placementGroup struct {
	State   string `json:"state"` // PENDING, PREPARED, CREATED, RESCHEDULING or REMOVED
	Bundles []struct {
		Resources Resources `json:"unit_resources"`
		NodeID    string    `json:"node_id"` // empty while it has no room
	} `json:"bundles"`
}

// Placement looks at the placement groups of the job with the internal id jobID,
// and where none of them is placed at its actors.
func (c *Client) Placement(ctx context.Context, jobID string) (Placement, error) {
	groups, err := list[placementGroup](ctx, c, "placement_groups", ofJob("creator_job_id", jobID))
	if err != nil {
		return Placement{}, err
	}
	var p Placement
	for _, g := range groups {
		p.group(g)
	}
	if p.Placed {
		return p, nil
	}
	actors, err := c.Actors(ctx, jobID)
	if err != nil {
		return Placement{}, err
	}
	for _, a := range actors {
		p.actor(a)
	}
	return p, nil
}

func (p *Placement) group(g placementGroup) {
	switch g.State {
	case "CREATED":
		p.Placed = true
	case "PENDING", "RESCHEDULING":
		for _, b := range g.Bundles {
			if b.NodeID == "" {
				p.Waiting = append(p.Waiting, b.Resources)
			}
		}
	}
}

// actor counts those that need room of their own, and not a node by its name,
// as actors of Ray's own do.
func (p *Placement) actor(a Actor) {
	maps.DeleteFunc(a.Resources, func(name string, _ float64) bool { return strings.HasPrefix(name, "node:") })
	switch {
	case len(a.Resources) == 0 || a.PlacementGroupID != "":
	case a.State == "ALIVE":
		p.Placed = true
	case a.State == "PENDING_CREATION":
		p.Waiting = append(p.Waiting, a.Resources)
	}
}

// ofJob selects the rows of a job.
func ofJob(column, jobID string) url.Values {
	return url.Values{"filter_keys": {column}, "filter_predicates": {"="}, "filter_values": {jobID}}
}
