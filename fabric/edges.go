package fabric

import (
	"cmp"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// edgeCounts counts each edge once.
func (j *job) edgeCounts() []EdgeCount {
	type kind struct {
		transport Transport
		scope     Scope
	}
	seen := map[kind]map[link]bool{}
	counts := map[kind]*EdgeCount{}
	count := func(k kind, gdr map[link]bool) {
		if counts[k] == nil {
			counts[k] = &EdgeCount{Transport: k.transport, Scope: k.scope}
		}
		counts[k].Count += len(gdr)
		for _, direct := range gdr {
			if direct {
				counts[k].GDR++
			}
		}
	}
	for _, g := range j.comms {
		clear(seen)
		for _, m := range g.members {
			for _, e := range m.edges {
				k := kind{g.edgeTransport(m, e), g.scope(m, e)}
				if seen[k] == nil {
					seen[k] = map[link]bool{}
				}
				before, again := seen[k][linkOf(e)]
				seen[k][linkOf(e)] = e.GDR && (before || !again)
			}
		}
		for k, links := range seen {
			count(k, links)
		}
	}
	list := make([]EdgeCount, 0, len(counts))
	for _, n := range counts {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b EdgeCount) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Transport, b.Transport))
	})
	return list
}

func (g *communicator) edgeTransport(m member, e *nccllog.Edge) Transport {
	switch {
	case e.Transport == nccllog.NET:
		return m.proc.transport(e.Net)
	case g.scope(m, e) == InterNode:
		return TransportMNNVL
	}
	return Transport(strings.ToLower(string(e.Transport)))
}

// scope: NCCL calls all edges of a communicator that joins hosts by NVLink
// MNNVL, those within a host too.
func (g *communicator) scope(m member, e *nccllog.Edge) Scope {
	if e.Transport == nccllog.NET && g.nodes != 1 {
		return InterNode
	}
	if isMNNVL(e) {
		if o := g.procs[e.Peer()]; o == nil || o.place == "" || o.place != m.proc.place {
			return InterNode
		}
	}
	return IntraNode
}
