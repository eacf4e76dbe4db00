package fabric

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// member is one rank of a communicator.
type member struct {
	*nccllog.Comm
	proc  *process
	edges []*nccllog.Edge
	kinds []string // rings, trees: what is connected
}

// communicator is a communicator over all its ranks that were seen.
type communicator struct {
	id             string
	ranks, nodes   int
	channels, nvls int
	members        []member
	procs          map[int]*process // by rank
	contradictions int              // ranks that two processes claim
	counted        bool             // some edges are known by counting only
	over           bool             // an earlier attempt of a later one
}

// communicators joins the ranks' views by commId. Splits carry none: they are
// joined by their parent, the count of splits before and the colour; ranks of
// NCCL before 2.16 by size and order.
func communicators(procs []*process) []*communicator {
	byID := map[string]*communicator{}
	groupOf := map[*nccllog.Comm]*communicator{}
	var all []*communicator
	for _, p := range procs {
		for i, c := range p.Comms {
			if c.NRanks < 2 {
				continue
			}
			id := commID(p, i)
			group := byID[id]
			if group == nil {
				group = &communicator{id: id, procs: map[int]*process{}}
				byID[id] = group
				all = append(all, group)
			}
			group.add(member{Comm: c, proc: p})
			groupOf[c] = group
		}
	}
	for _, p := range procs {
		p.attribute(func(c *nccllog.Comm, rank int) *process { return groupOf[c].procs[rank] })
	}
	for _, group := range all {
		group.connect()
	}
	return all
}

func commID(p *process, i int) string {
	c := p.Comms[i]
	if c.ID != "" {
		return c.ID
	}
	if c.Parent != 0 {
		for j := i - 1; j >= 0; j-- { // a pointer may be used again
			if p.Comms[j].Ptr == c.Parent {
				return fmt.Sprintf("%s/split%d/color%d", commID(p, j), c.Child, c.Color)
			}
		}
	}
	nth := 0
	for _, earlier := range p.Comms[:i] {
		if earlier.ID == "" && earlier.NRanks == c.NRanks {
			nth++
		}
	}
	return fmt.Sprintf("size%d#%d", c.NRanks, nth)
}

func (g *communicator) add(m member) {
	g.ranks = max(g.ranks, m.NRanks)
	g.nodes = max(g.nodes, m.NNodes)
	g.channels = max(g.channels, m.Channels)
	g.nvls = max(g.nvls, m.NVLSChannels)
	if g.procs[m.Rank] != nil {
		g.contradictions++
		return
	}
	g.procs[m.Rank] = m.proc
	g.members = append(g.members, m)
}

// connect gives the members their edges.
func (g *communicator) connect() {
	slices.SortStableFunc(g.members, func(a, b member) int { return cmp.Compare(a.Rank, b.Rank) })
	for i := range g.members {
		m := &g.members[i]
		m.edges, m.kinds = m.proc.owned[m.Comm], m.proc.kinds[m.Comm]
		g.counted = g.counted || slices.Contains(m.proc.counted, m.Comm)
	}
}

// spansNodes tells whether the communicator needs a network: it spans several
// hosts as NCCL counts them, has edges over a network, or joins hosts by NVLink,
// which NCCL counts as one node.
func (g *communicator) spansNodes() bool {
	return g.nodes > 1 || g.any(isNet) || g.joinsHosts()
}

// joinsHosts tells whether NVLink connects the hosts of the communicator.
func (g *communicator) joinsHosts() bool {
	return g.places() > 1 && (g.any(isMNNVL) ||
		slices.ContainsFunc(g.members, func(m member) bool { return m.MNNVL }))
}

// places counts the hosts that are known to differ.
func (g *communicator) places() int {
	seen := map[string]bool{}
	for _, m := range g.members {
		if m.proc.place != "" {
			seen[m.proc.place] = true
		}
	}
	return len(seen)
}

func isNet(e *nccllog.Edge) bool { return e.Transport == nccllog.NET }

func (g *communicator) any(is func(*nccllog.Edge) bool) bool {
	return slices.ContainsFunc(g.members, func(m member) bool { return slices.ContainsFunc(m.edges, is) })
}

// transports are the networks on the member's edges.
func (m member) transports() transports {
	var seen transports
	last := ""
	for _, e := range m.edges {
		if e.Transport == nccllog.NET && (e.Net != last || len(seen) == 0) {
			last = e.Net
			seen.add(m.proc.transport(e.Net))
		}
	}
	return seen
}

// edgeTransports are the networks on edges; networks adds what the ranks say
// they were given.
func (g *communicator) edgeTransports() transports {
	var seen transports
	for _, m := range g.members {
		for _, t := range m.transports() {
			seen.add(t)
		}
	}
	return seen
}

func (g *communicator) networks() transports {
	seen := g.edgeTransports()
	for _, m := range g.members {
		if isNetwork(m.Network.Name) {
			seen.add(m.proc.transport(m.Network.Name))
		}
	}
	return seen
}

// missing names the ranks that no log shows, the first few of many.
func (g *communicator) missing() string {
	var names []string
	for rank := 0; rank < g.ranks && len(names) < 4; rank++ {
		if g.procs[rank] == nil {
			names = append(names, fmt.Sprint(rank))
		}
	}
	lost := g.ranks - len(g.members)
	word := "rank"
	if lost > 1 {
		word = "ranks"
	}
	if lost > len(names) {
		return fmt.Sprintf("%s %s and %d more", word, strings.Join(names, ", "), lost-len(names))
	}
	return word + " " + strings.Join(names, ", ")
}

// link is an edge seen from no particular end.
type link struct{ channel, conn, from, to int }

func linkOf(e *nccllog.Edge) link { return link{e.Channel, e.Conn, e.From, e.To} }

// Which ends of a link over a network were seen.
const (
	sent = 1 << iota
	received
)

// ends collects which ends of the links over a network were seen, and which
// ranks send and receive on which channel by whatever means.
type ends struct {
	links       map[link]uint8
	sends, gets []bool // rank*channels+channel
	crossing    []bool // of those, over a network
}

func (g *communicator) ends(channels int) ends {
	size := g.ranks * channels
	s := ends{map[link]uint8{}, make([]bool, size), make([]bool, size), make([]bool, size)}
	for _, m := range g.members {
		for _, e := range m.edges {
			if e.Conn == 0 && e.Channel < channels {
				s.sends[e.From*channels+e.Channel] = true
				s.gets[e.To*channels+e.Channel] = true
				if e.Transport == nccllog.NET {
					s.crossing[e.Own()*channels+e.Channel] = true
				}
			}
			switch {
			case e.Transport != nccllog.NET:
			case e.Direction == nccllog.Send:
				s.links[linkOf(e)] |= sent
			default:
				s.links[linkOf(e)] |= received
			}
		}
	}
	return s
}

// gap says what of the edges is missing; empty for nothing. All ranks must be
// there. In rings and trees alike every rank sends and receives on every
// channel, and an edge over a network has two ends that both print it.
func (g *communicator) gap() string {
	channels := g.channels
	onlyNVLS := g.onlyNVLS()
	if onlyNVLS {
		channels = g.nvls
	}
	if !g.any(func(*nccllog.Edge) bool { return true }) {
		return "no edge of it was seen, so it was not used yet, or the lines are lost"
	}
	s := g.ends(channels)
	switch {
	case len(s.links) == 0 && !g.joinsHosts():
		return "no edge over a network was seen"
	case !g.complete(s.links):
		return "an edge was seen from one end only"
	case g.pointToPoint():
		return g.pairsGap()
	case channels == 0:
		return "the number of channels is not known"
	}
	for _, m := range g.members {
		if !g.connected(m) {
			return m.proc.label() + " has not said that its connections are complete"
		}
	}
	if onlyNVLS {
		return g.headsGap(s, channels)
	}
	for _, m := range g.members {
		for channel := range channels {
			if at := m.Rank*channels + channel; !s.sends[at] || !s.gets[at] {
				return fmt.Sprintf("%s has no edge on channel %d", m.proc.label(), channel)
			}
		}
	}
	return ""
}

func (g *communicator) complete(links map[link]uint8) bool {
	for _, seen := range links {
		if seen != sent|received {
			return false
		}
	}
	return true
}

// connected tells whether the member said that what it connects is complete.
// NCCL before 2.8 does not say so: there the end of the initialisation is it.
func (g *communicator) connected(m member) bool {
	if len(m.kinds) > 0 {
		return true
	}
	return m.Completed.Seen() && g.before28()
}

// before28: of NCCL before 2.22 only rank 0 prints the version.
func (g *communicator) before28() bool {
	known := false
	for _, m := range g.members {
		for _, v := range [...]nccllog.Version{m.proc.Version, m.proc.log.Banner} {
			if v.AtLeast(2, 8, 0) {
				return false
			}
			known = known || v.Seen()
		}
	}
	return known
}

// onlyNVLS tells whether the tree between NVLink SHARP's heads is all that the
// communicator connected. Other ranks than the heads have no edge then.
func (g *communicator) onlyNVLS() bool {
	found := false
	for _, m := range g.members {
		for _, kind := range m.kinds {
			if kind != "nvls trees" {
				return false
			}
			found = true
		}
	}
	return found
}

// headsGap: on every channel one rank of each node is the head.
func (g *communicator) headsGap(s ends, channels int) string {
	for channel := range channels {
		heads := 0
		for _, m := range g.members {
			if s.crossing[m.Rank*channels+channel] {
				heads++
			}
		}
		if heads < max(g.nodes, 2) {
			return fmt.Sprintf("channel %d has no edge on every node", channel)
		}
	}
	return ""
}

// pointToPoint tells whether the communicator is used for calls from rank to
// rank only, as those between the stages of a pipeline are. It never says that
// its connections are complete.
func (g *communicator) pointToPoint() bool {
	for _, m := range g.members {
		if len(m.kinds) > 0 || slices.ContainsFunc(m.edges, func(e *nccllog.Edge) bool { return e.Conn == 0 && e.Transport != nccllog.SHM }) {
			return false
		}
	}
	return true
}

// pairsGap: which pairs of ranks talk to each other is not known, but each rank
// must, and a pair connects as many channels as any other.
func (g *communicator) pairsGap() string {
	channels := map[[2]int]map[int]bool{}
	busy := make([]bool, g.ranks)
	most := 0
	for _, m := range g.members {
		for _, e := range m.edges {
			pair := [2]int{e.From, e.To}
			if channels[pair] == nil {
				channels[pair] = map[int]bool{}
			}
			channels[pair][e.Channel] = true
			most = max(most, len(channels[pair]))
			busy[e.From], busy[e.To] = true, true
		}
	}
	for _, m := range g.members {
		if !busy[m.Rank] {
			return m.proc.label() + " has no edge"
		}
	}
	for _, seen := range channels {
		if len(seen) < most {
			return "some ranks have fewer channels to each other than others have"
		}
	}
	return ""
}
