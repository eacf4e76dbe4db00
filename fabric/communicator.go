package fabric

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// maxChannels is more channels than any NCCL has (64); a larger number is not
// one of channels.
const maxChannels = 1 << 10

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
	habits         map[string]bool  // what some rank is known to have connected
	rivals         []member         // who claim a rank that another has
	counted        bool             // some edges are known by counting only
	over           bool             // an earlier attempt of a later one
}

// sizeOnly begins the names of communicators that are known by their size only.
const sizeOnly = "size"

// communicators joins the ranks' views by commId. Splits carry none: they are
// joined by their parent, the count of splits before and the colour; ranks of
// NCCL before 2.16 by size and order.
func communicators(procs []*process) []*communicator {
	byID := map[string]*communicator{}
	groupOf := map[*nccllog.Comm]*communicator{}
	var all []*communicator
	for _, p := range procs {
		for i, c := range p.Comms {
			if !isShared(c) {
				continue
			}
			id := commID(p, i)
			group := byID[id]
			if group == nil {
				group = &communicator{id: id, procs: map[int]*process{}, habits: map[string]bool{}}
				byID[id] = group
				all = append(all, group)
			}
			group.add(member{Comm: c, proc: p})
			groupOf[c] = group
		}
	}
	for _, p := range procs {
		p.groups = groupOf
	}
	attribute(procs)
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
	return fmt.Sprintf(sizeOnly+"%d#%d", c.NRanks, nth)
}

func (g *communicator) add(m member) {
	g.ranks = max(g.ranks, m.NRanks)
	g.nodes = max(g.nodes, m.NNodes)
	if max(m.Channels, m.NVLSChannels) <= maxChannels {
		g.channels = max(g.channels, m.Channels)
		g.nvls = max(g.nvls, m.NVLSChannels)
	}
	if g.procs[m.Rank] != nil {
		g.rivals = append(g.rivals, m)
		return
	}
	g.procs[m.Rank] = m.proc
	g.members = append(g.members, m)
}

// connect gives the members their edges.
func (g *communicator) connect() {
	slices.SortStableFunc(g.members, func(a, b member) int { return cmp.Compare(a.Rank, b.Rank) })
	for _, list := range [...][]member{g.members, g.rivals} {
		for i := range list {
			m := &list[i]
			m.edges, m.kinds = m.proc.owned[m.Comm], m.proc.kinds[m.Comm]
			g.counted = g.counted || slices.Contains(m.proc.counted, m.Comm)
		}
	}
}

// claims are all that say that they are of the communicator.
func (g *communicator) claims() []member { return slices.Concat(g.members, g.rivals) }

// blended tells whether several runs may have fallen together: two processes
// have one rank, and no id tells the runs apart.
func (g *communicator) blended() bool {
	return len(g.rivals) > 0 && g.members[0].ID == "" && strings.HasPrefix(g.id, sizeOnly)
}

// spansNodes tells whether the communicator needs a network: it spans several
// hosts as NCCL counts them, or by their names while NCCL has not counted yet,
// has edges over a network, or joins hosts by NVLink, which NCCL counts as one
// node.
func (g *communicator) spansNodes() bool {
	return g.nodes > 1 || g.nodes == 0 && g.places() > 1 || g.any(isNet) || g.joinsHosts()
}

// crosses tells whether the communicator is sure to need a network. While NCCL
// has not counted the nodes, hosts of different names may be joined by NVLink
// yet, which came with the count.
func (g *communicator) crosses() bool {
	return g.nodes > 1 || g.any(isNet) || g.nodes == 0 && g.places() > 1 && !g.since(2, 20, 3)
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
	for _, m := range g.claims() {
		for _, t := range m.transports() {
			seen.add(t)
		}
	}
	return seen
}

func (g *communicator) networks() transports {
	seen := g.edgeTransports()
	for _, m := range g.claims() {
		if isNetwork(m.Network.Name) {
			seen.add(m.proc.transport(m.Network.Name))
		}
	}
	return seen
}

// headLost finds a member that had a communicator with another before, uses
// Libfabric, and shows no start of NCCL in between while the other does: what
// looks like one process are two, and the second's head is lost.
func (g *communicator) headLost() (member, bool) {
	for _, o := range g.members {
		if len(o.proc.Starts) < 2 {
			continue
		}
		for _, before := range o.proc.Comms {
			if !isShared(before) || !o.proc.startsBetween(before, o.Comm) {
				continue
			}
			for _, m := range g.members {
				if o.proc.groups[before].has(m) && slices.ContainsFunc(m.edges, func(e *nccllog.Edge) bool { return isLibfabric(e.Net) }) {
					return m, true
				}
			}
		}
	}
	return member{}, false
}

// has tells whether the member's process was in the communicator, and NCCL did
// not begin anew in it since.
func (g *communicator) has(m member) bool {
	return g != nil && slices.ContainsFunc(g.members, func(o member) bool {
		return o.proc == m.proc && shown(o.Comm) < shown(m.Comm) && !m.proc.startsBetween(o.Comm, m.Comm)
	})
}

// startsBetween tells whether NCCL began after the one communicator and before
// the other.
func (p *process) startsBetween(a, b *nccllog.Comm) bool {
	return slices.ContainsFunc(p.Starts, func(f nccllog.Fact) bool { return shown(a) < f.Line && f.Line < shown(b) })
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

// links tells which ends of the links over a network were seen.
func (g *communicator) links() map[link]uint8 {
	links := map[link]uint8{}
	for _, m := range g.members {
		for _, e := range m.edges {
			switch {
			case e.Transport != nccllog.NET:
			case e.Direction == nccllog.Send:
				links[linkOf(e)] |= sent
			default:
				links[linkOf(e)] |= received
			}
		}
	}
	return links
}

// gap says what of the edges is missing; empty for nothing. All ranks must be
// there. An edge over a network has two ends that both print it.
func (g *communicator) gap() string {
	if !g.any(func(*nccllog.Edge) bool { return true }) {
		return "no edge of it was seen"
	}
	links := g.links()
	switch {
	case len(links) == 0 && !g.joinsHosts():
		return "no edge over a network was seen"
	case !g.complete(links):
		return "an edge was seen from one end only"
	}
	if gap := g.pairsGap(); gap != "" || g.pointToPoint() {
		return gap
	}
	for _, m := range g.members {
		if len(m.kinds) == 0 && !(m.Completed.Seen() && g.before28()) {
			return m.proc.label() + " has not said that its connections are complete"
		}
	}
	if m, kind, ok := g.uneven(); ok {
		return fmt.Sprintf("%s has not said that its %s are connected", m.proc.label(), kind)
	}
	if g.every("nvls trees") {
		if gap := g.headsGap(); gap != "" {
			return gap
		}
		if g.only("nvls trees") {
			return g.collectivesGap()
		}
	}
	if g.channels == 0 {
		return "the number of channels is not known"
	}
	return g.collectivesGap()
}

// only tells whether the members connected nothing else.
func (g *communicator) only(kind string) bool {
	return !slices.ContainsFunc(g.members, func(m member) bool {
		return slices.ContainsFunc(m.kinds, func(k string) bool { return k != kind })
	})
}

func (g *communicator) complete(links map[link]uint8) bool {
	for _, seen := range links {
		if seen != sent|received {
			return false
		}
	}
	return true
}

// before28 tells whether this is NCCL before 2.8, which does not say that its
// connections are complete: the end of the initialisation is it there.
func (g *communicator) before28() bool {
	return g.versionKnown() && !g.since(2, 8, 0)
}

// versions are those that the members print. Of NCCL before 2.22 only rank 0 does.
func (g *communicator) versions() []nccllog.Version {
	var all []nccllog.Version
	for _, m := range g.members {
		for _, v := range [...]nccllog.Version{m.proc.Version, m.proc.log.Banner} {
			if v.Seen() {
				all = append(all, v)
			}
		}
	}
	return all
}

func (g *communicator) versionKnown() bool { return len(g.versions()) > 0 }

// since tells whether the version is at least that, or not known.
func (g *communicator) since(major, minor, patch int) bool {
	all := g.versions()
	return len(all) == 0 || slices.ContainsFunc(all, func(v nccllog.Version) bool { return v.AtLeast(major, minor, patch) })
}

// headsGap: of the tree between NVLink SHARP's heads every channel has an edge
// at one rank of each node.
func (g *communicator) headsGap() string {
	if g.nvls == 0 {
		return "the number of channels is not known"
	}
	heads := map[int]map[int]bool{} // channel, rank
	for _, m := range g.members {
		for _, e := range m.edges {
			if e.Transport == nccllog.NET && e.Conn == 0 {
				if heads[e.Channel] == nil {
					heads[e.Channel] = map[int]bool{}
				}
				heads[e.Channel][m.Rank] = true
			}
		}
	}
	for channel := range g.nvls {
		if len(heads[channel]) < max(g.nodes, 2) {
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

// pairsGap says what is missing of point-to-point connections. Which ranks talk
// to each other is not known, but those that do connect as many channels as any
// others, and in a communicator without collectives everybody talks to somebody.
func (g *communicator) pairsGap() string {
	channels := map[[2]int]map[int]bool{}
	busy := make([]bool, g.ranks)
	most := 0
	for _, m := range g.members {
		for _, e := range m.edges {
			busy[e.From], busy[e.To] = true, true
			if e.Conn == 0 {
				continue
			}
			pair := [2]int{e.From, e.To}
			if channels[pair] == nil {
				channels[pair] = map[int]bool{}
			}
			channels[pair][e.Channel] = true
			most = max(most, len(channels[pair]))
		}
	}
	if at := slices.Index(busy, false); at >= 0 && g.pointToPoint() {
		return g.procs[at].label() + " has no edge"
	}
	oneWay := false
	for pair, seen := range channels {
		if len(seen) < most {
			return "some ranks have fewer channels to each other than others have"
		}
		oneWay = oneWay || channels[[2]int{pair[1], pair[0]}] == nil
	}
	if most == 1 && oneWay {
		return "ranks are connected in one direction and on one channel only, so that a lost one would not be missed"
	}
	return ""
}
