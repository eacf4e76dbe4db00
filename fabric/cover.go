package fabric

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/trainyard/trainyard/nccllog"
)

// arc is a connection of collectives from one rank to another on one channel.
type arc struct {
	from, to int
	// loose: it may be of a point-to-point call, the line does not tell.
	loose bool
}

// arcs sorts the connections by channel, each once, as their senders see them.
func (g *communicator) arcs(channels int) [][]arc {
	all := make([][]arc, channels)
	old := !g.since(2, 12, 7) // before, lines have no index of the connection
	for _, m := range g.members {
		for _, e := range m.edges {
			if e.Conn != 0 || e.Channel >= channels || e.Own() != e.From || e.Shared {
				continue
			}
			loose := e.Transport == nccllog.SHM || old && e.Transport != nccllog.NET
			all[e.Channel] = append(all[e.Channel], arc{e.From, e.To, loose})
		}
	}
	for i, channel := range all {
		slices.SortFunc(channel, func(a, b arc) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
		all[i] = slices.CompactFunc(channel, func(a, b arc) bool { return a.from == b.from && a.to == b.to })
	}
	return all
}

// collectivesGap says what is missing of rings and trees; empty for nothing.
//
// A ring leads through all ranks in one direction; all else (trees, binomial
// trees, the tree between NVLink SHARP's heads) is connected both ways. So a
// connection without its reverse is of the ring, and what is lost from a ring
// cannot be made up for by a tree.
func (g *communicator) collectivesGap() string {
	rings := g.every("rings") || g.before28()
	trees := g.every("trees") || g.every("binomial trees")
	for channel, arcs := range g.arcs(max(g.channels, g.nvls)) {
		switch {
		case rings && channel < g.channels && !isRing(g.ranks, arcs):
			return fmt.Sprintf("on channel %d no ring leads through all ranks", channel)
		case rings && channel < g.channels:
		case !slices.ContainsFunc(arcs, func(a arc) bool { return !a.loose && !reversed(arcs, a) }):
		default:
			return fmt.Sprintf("on channel %d a connection of the tree is missing", channel)
		}
		if trees && !rings && channel < g.channels && !touchesAll(g.ranks, arcs) {
			return fmt.Sprintf("on channel %d not every rank is connected", channel)
		}
	}
	return ""
}

// every tells whether all members said that they connected this.
func (g *communicator) every(kind string) bool {
	return !slices.ContainsFunc(g.members, func(m member) bool { return !slices.Contains(m.kinds, kind) })
}

// uneven finds a member that lacks what others said that they connected.
func (g *communicator) uneven() (member, string, bool) {
	said := map[string]int{}
	for _, m := range g.members {
		for _, kind := range slices.Compact(slices.Sorted(slices.Values(m.kinds))) {
			said[kind]++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(said)) {
		if said[kind] < len(g.members) {
			at := slices.IndexFunc(g.members, func(m member) bool { return !slices.Contains(m.kinds, kind) })
			return g.members[at], kind, true
		}
	}
	return member{}, "", false
}

func reversed(arcs []arc, a arc) bool {
	_, ok := slices.BinarySearchFunc(arcs, arc{from: a.to, to: a.from}, func(x, y arc) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to))
	})
	return ok
}

func touchesAll(ranks int, arcs []arc) bool {
	sends, gets := make([]bool, ranks), make([]bool, ranks)
	for _, a := range arcs {
		sends[a.from], gets[a.to] = true, true
	}
	return !slices.Contains(sends, false) && !slices.Contains(gets, false)
}

// isRing tells whether every rank can have one that it sends to and one that it
// gets from, if the connections without a reverse are all taken.
func isRing(ranks int, arcs []arc) bool {
	next, prev := make([]int, ranks), make([]int, ranks)
	for i := range ranks {
		next[i], prev[i] = -1, -1
	}
	for _, a := range arcs {
		if a.loose || reversed(arcs, a) {
			continue
		}
		if next[a.from] >= 0 || prev[a.to] >= 0 {
			return false
		}
		next[a.from], prev[a.to] = a.to, a.from
	}
	return matched(next, prev, arcs)
}

// matched completes next and prev from the connections: a bipartite matching by
// augmenting paths. Nearly all ranks find theirs at once.
func matched(next, prev []int, arcs []arc) bool {
	first := make([]int, len(next)+1) // of each rank's arcs
	at := 0
	for rank := range next {
		for at < len(arcs) && arcs[at].from < rank {
			at++
		}
		first[rank] = at
	}
	first[len(next)] = len(arcs)
	fixed := make([]bool, len(next))
	for _, to := range next {
		if to >= 0 {
			fixed[to] = true
		}
	}
	seen := make([]int, len(next)) // in which search
	var augment func(from, search int) bool
	augment = func(from, search int) bool {
		for _, a := range arcs[first[from]:first[from+1]] {
			if fixed[a.to] || seen[a.to] == search {
				continue
			}
			seen[a.to] = search
			if prev[a.to] < 0 || augment(prev[a.to], search) {
				next[from], prev[a.to] = a.to, from
				return true
			}
		}
		return false
	}
	for from := range next {
		if next[from] < 0 && !augment(from, from+1) {
			return false
		}
	}
	return true
}
