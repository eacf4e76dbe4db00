package fabric

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/trainyard/trainyard/nccllog"
)

// member is one rank of a communicator.
type member struct {
	*nccllog.Comm
	proc  *process
	edges []*nccllog.Edge
}

// communicator is a communicator over all its ranks that were seen.
type communicator struct {
	id             string
	ranks, nodes   int
	channels       int
	members        []member
	contradictions int // ranks that two processes claim
}

// communicators joins the ranks' views by commId. Splits carry none: they are
// joined by their parent, the count of splits before and the colour; ranks of
// NCCL before 2.16 by size and order.
func communicators(procs []*process) []*communicator {
	byID := map[string]*communicator{}
	var all []*communicator
	for _, p := range procs {
		edges := p.edgesByComm()
		for i, c := range p.Comms {
			if c.NRanks < 2 {
				continue
			}
			id := commID(p, i)
			group := byID[id]
			if group == nil {
				group = &communicator{id: id}
				byID[id] = group
				all = append(all, group)
			}
			group.add(member{Comm: c, proc: p, edges: edges[c]})
		}
	}
	for _, group := range all {
		slices.SortStableFunc(group.members, func(a, b member) int { return cmp.Compare(a.Rank, b.Rank) })
	}
	return all
}

func commID(p *process, i int) string {
	c := p.Comms[i]
	if c.ID != "" {
		return c.ID
	}
	if c.Parent != 0 {
		for j := range p.Comms[:i] {
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
	for _, o := range g.members {
		if o.Rank == m.Rank {
			g.contradictions++
			return
		}
	}
	g.members = append(g.members, m)
}

// edgesByComm gives the edges to the communicators; those that could be meant
// for several are in none.
func (p *process) edgesByComm() map[*nccllog.Comm][]*nccllog.Edge {
	all := map[*nccllog.Comm][]*nccllog.Edge{}
	for _, e := range p.Edges {
		if c := p.CommOf(e); c != nil {
			all[c] = append(all[c], e)
		}
	}
	return all
}

// spansNodes tells whether the communicator needs a network: it spans several
// hosts as NCCL counts them, or has edges over a network.
func (g *communicator) spansNodes() bool {
	if g.nodes > 1 {
		return true
	}
	for _, m := range g.members {
		for _, e := range m.edges {
			if e.Transport == nccllog.NET {
				return true
			}
		}
	}
	return false
}

// edgeTransports are the networks on edges; networks adds what the ranks say
// they were given.
func (g *communicator) edgeTransports() transports {
	var seen transports
	for _, m := range g.members {
		for _, e := range m.edges {
			if e.Transport == nccllog.NET {
				seen.add(m.proc.transport(e.Net))
			}
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

// link is an edge seen from no particular end.
type link struct{ channel, conn, from, to int }

func linkOf(e *nccllog.Edge) link { return link{e.Channel, e.Conn, e.From, e.To} }

// ends collects which ends of the links over a network were seen, and which
// ranks send on which channel by whatever means.
type ends struct {
	sent, received map[link]bool
	sends, gets    map[[2]int]bool // channel, rank
}

func (g *communicator) ends() ends {
	s := ends{map[link]bool{}, map[link]bool{}, map[[2]int]bool{}, map[[2]int]bool{}}
	for _, m := range g.members {
		for _, e := range m.edges {
			if e.Conn == 0 {
				s.sends[[2]int{e.Channel, e.From}] = true
				s.gets[[2]int{e.Channel, e.To}] = true
			}
			switch {
			case e.Transport != nccllog.NET:
			case e.Direction == nccllog.Send:
				s.sent[linkOf(e)] = true
			default:
				s.received[linkOf(e)] = true
			}
		}
	}
	return s
}

// gap says what of the communicator's edges is missing; empty for nothing. In
// rings and trees alike every rank sends and receives on every channel, and an
// edge over a network has two ends that both print it.
func (g *communicator) gap() string {
	s := g.ends()
	if len(s.sent)+len(s.received) == 0 {
		return "no edge over a network was seen"
	}
	for l := range s.sent {
		if !s.received[l] {
			return "an edge was seen from the sender's end only"
		}
	}
	for l := range s.received {
		if !s.sent[l] {
			return "an edge was seen from the receiver's end only"
		}
	}
	if g.channels == 0 {
		return "the number of channels is not known"
	}
	for _, m := range g.members {
		if !m.proc.IsConnected(m.Comm) {
			return m.proc.label() + " has not said that its connections are complete"
		}
		for channel := range g.channels {
			if at := [2]int{channel, m.Rank}; !s.sends[at] || !s.gets[at] {
				return fmt.Sprintf("%s has no edge on channel %d", m.proc.label(), channel)
			}
		}
	}
	return ""
}
