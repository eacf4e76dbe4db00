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
				k := kind{scopeTransport(m.proc, e), scopeOf(g, e)}
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

func scopeTransport(p *process, e *nccllog.Edge) Transport {
	if e.Transport == nccllog.NET {
		return p.transport(e.Net)
	}
	return Transport(strings.ToLower(string(e.Transport)))
}

// scopeOf: MNNVL is NVLink between hosts.
func scopeOf(g *communicator, e *nccllog.Edge) Scope {
	if g.nodes != 1 && e.Transport == nccllog.NET || strings.HasPrefix(e.Net, "MNNVL") {
		return InterNode
	}
	return IntraNode
}
