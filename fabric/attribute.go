package fabric

import (
	"slices"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// run is what a process connected in one go, for one communicator. A channel
// line does not name the communicator, so it has to be found out whose it is.
type run struct {
	edges []*nccllog.Edge
	kinds []string        // what it completed: rings, trees, ...
	maybe []*nccllog.Comm // whose it can be; one where that is clear
	of    *nccllog.Comm   // whose it is, by elimination
	first int64
}

// collnet chains lead to the switch: they connect no ranks.
const collnet = "collnet"

// maxRounds bounds how often the processes' findings are heeded by others.
const maxRounds = 4

// attribute finds the communicator of every run: the one whose ranks, nodes,
// channels and lifetime fit. A communicator connects an edge once, and each of
// its algorithms once, so a run whose owner is clear rules that owner out for
// others like it. What fits several still is left to the other processes: who
// has the other ends, and what the communicators connected elsewhere.
func attribute(procs []*process) {
	for _, p := range procs {
		p.runs = p.gather()
		for _, r := range p.runs {
			r.maybe = p.fitting(r)
		}
	}
	for range maxRounds {
		for _, p := range procs {
			p.eliminate()
		}
		changed := false
		for _, p := range procs {
			changed = p.heedEnds() || changed
		}
		noteHabits(procs)
		for _, p := range procs {
			changed = p.heedHabits() || changed
		}
		if !changed {
			break
		}
	}
	for _, p := range procs {
		p.settle()
	}
}

// settle gives the runs to their owners.
func (p *process) settle() {
	p.owned = map[*nccllog.Comm][]*nccllog.Edge{}
	p.kinds = map[*nccllog.Comm][]string{}
	for _, r := range p.runs {
		if len(r.maybe) == 1 {
			r.of = r.maybe[0]
			p.owned[r.of] = append(p.owned[r.of], r.edges...)
			p.kinds[r.of] = append(p.kinds[r.of], r.kinds...)
		}
	}
	p.direct()
	p.byCounting()
	p.adopt()
}

// gather sorts the edges into runs.
func (p *process) gather() []*run {
	var runs []*run
	bySetup := map[int]*run{}
	for _, e := range p.Edges {
		r := bySetup[e.Setup]
		if r == nil || e.Setup == 0 {
			r = &run{first: e.Line}
			runs = append(runs, r)
			bySetup[e.Setup] = r
		}
		r.edges = append(r.edges, e)
	}
	for _, done := range p.Connected {
		if r := bySetup[done.Setup]; r != nil && done.Setup != 0 && done.Kind != collnet {
			r.kinds = append(r.kinds, done.Kind)
		}
	}
	return runs
}

// direct takes what the lines say of a communicator without a run.
func (p *process) direct() {
	for _, done := range p.Connected {
		if done.Kind == collnet {
			continue
		}
		for _, c := range p.Comms {
			if done.Comm != 0 && done.Comm == c.Ptr && alive(c, done.Line) || done.Comm == 0 && len(p.Comms) == 1 {
				p.kinds[c] = append(p.kinds[c], done.Kind)
			}
		}
	}
}

// fitting returns the communicators that the run can be for. Where the finer
// evidence rules out all, it is not to be trusted, and the coarse decides.
func (p *process) fitting(r *run) []*nccllog.Comm {
	var coarse, fine []*nccllog.Comm
	for _, c := range p.Comms {
		if !isShared(c) || !alive(c, r.first) || !r.ranksFit(c) {
			continue
		}
		coarse = append(coarse, c)
	}
	if len(coarse) < 2 {
		return coarse
	}
	for _, c := range coarse {
		if r.networkFits(c) && r.channelsFit(c) && r.nodesFit(c, p.forcedNet()) && p.placesFit(r, c) {
			fine = append(fine, c)
		}
	}
	if len(fine) == 0 {
		return coarse
	}
	return fine
}

// isShared tells whether the communicator has other ranks. A rank beyond their
// number is from a line that was torn.
func isShared(c *nccllog.Comm) bool { return c.NRanks > 1 && c.Rank < c.NRanks }

// alive tells whether the communicator was there when the line was printed.
// Those without any line of their initialisation may always have been.
func alive(c *nccllog.Comm, line int64) bool {
	if c.Done.Seen() && c.Done.Line < line {
		return false
	}
	return opened(c) <= line
}

// opened is the first line of a communicator that was seen, 0 where the line
// comes when all is connected, as with NCCL before 2.18.
func opened(c *nccllog.Comm) int64 {
	if !c.Started.Seen() && !c.Sized.Seen() {
		return 0
	}
	return shown(c)
}

// shown is the first line of a communicator's initialisation that was seen.
func shown(c *nccllog.Comm) int64 {
	first := int64(0)
	for _, f := range [...]nccllog.Fact{c.Started, c.Sized, c.Completed} {
		if f.Seen() && (first == 0 || f.Line < first) {
			first = f.Line
		}
	}
	return first
}

func (r *run) ranksFit(c *nccllog.Comm) bool {
	for _, e := range r.edges {
		if e.Comm != 0 && e.Comm != c.Ptr || e.Own() != c.Rank || e.Peer() >= c.NRanks {
			return false
		}
	}
	return true
}

// networkFits: a communicator has one network.
func (r *run) networkFits(c *nccllog.Comm) bool {
	return !isNetwork(c.Network.Name) || !slices.ContainsFunc(r.edges, func(e *nccllog.Edge) bool {
		return isNet(e) && !strings.EqualFold(e.Net, c.Network.Name)
	})
}

// channelsFit: point-to-point calls have channels of their own number.
func (r *run) channelsFit(c *nccllog.Comm) bool {
	limit := max(c.Channels, c.NVLSChannels)
	return limit == 0 || !slices.ContainsFunc(r.edges, func(e *nccllog.Edge) bool {
		return e.Conn == 0 && e.Channel >= limit
	})
}

// nodesFit: within a node nothing crosses a network, unless the faster ways
// are switched off; a rank that is alone on its node has nobody there.
func (r *run) nodesFit(c *nccllog.Comm, forced bool) bool {
	for _, e := range r.edges {
		net := e.Transport == nccllog.NET
		if net && c.NNodes == 1 && !forced || !net && c.LocalRanks == 1 && !isMNNVL(e) {
			return false
		}
	}
	return true
}

// forcedNet: NCCL was told not to use the ways within a node.
func (p *process) forcedNet() bool {
	for _, name := range [...]string{"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_P2P_LEVEL"} {
		if _, ok := p.Setting(name); ok {
			return true
		}
	}
	return false
}

// placesFit: GPUs of different hosts share no memory, and those of one host
// need no network.
func (p *process) placesFit(r *run, c *nccllog.Comm) bool {
	for _, e := range r.edges {
		o := p.groups[c].procs[e.Peer()]
		if o == nil || o.place == "" || p.place == "" || isMNNVL(e) {
			continue
		}
		net := e.Transport == nccllog.NET
		if !net && o.place != p.place || net && o.place == p.place && !p.forcedNet() {
			return false
		}
	}
	return true
}

func isMNNVL(e *nccllog.Edge) bool {
	return e.Transport == nccllog.P2P && strings.HasPrefix(e.Net, "MNNVL")
}

// end is an edge seen from one end.
type end struct {
	link
	direction nccllog.Direction
}

func endOf(e *nccllog.Edge) end { return end{linkOf(e), e.Direction} }

// eliminate rules out, as long as that leads on, communicators that have
// already what a run connects.
func (p *process) eliminate() {
	var known []*run
	for _, r := range p.runs {
		if len(r.maybe) == 1 {
			known = append(known, r)
		}
	}
	if len(known) == len(p.runs) {
		return
	}
	ends, kinds := map[end][]*run{}, map[string][]*run{} // of the runs that are not clear
	for _, r := range p.runs {
		if len(r.maybe) < 2 {
			continue
		}
		for _, e := range r.edges {
			ends[endOf(e)] = append(ends[endOf(e)], r)
		}
		for _, kind := range r.kinds {
			kinds[kind] = append(kinds[kind], r)
		}
	}
	for len(known) > 0 {
		r := known[0]
		known = known[1:]
		exclude := func(others []*run) {
			for _, o := range others {
				if len(o.maybe) > 1 && slices.Contains(o.maybe, r.maybe[0]) {
					o.maybe = slices.DeleteFunc(slices.Clone(o.maybe), func(c *nccllog.Comm) bool { return c == r.maybe[0] })
					if len(o.maybe) == 1 {
						known = append(known, o)
					}
				}
			}
		}
		for _, e := range r.edges {
			exclude(ends[endOf(e)])
		}
		for _, kind := range r.kinds {
			exclude(kinds[kind])
		}
	}
}

// heedEnds leaves to each run the communicators in which the peers have most of
// the other ends of its edges.
func (p *process) heedEnds() (changed bool) {
	for _, r := range p.runs {
		if len(r.maybe) < 2 {
			continue
		}
		most, best := 0, []*nccllog.Comm(nil)
		for _, c := range r.maybe {
			n := p.answered(r, c)
			if n > most {
				most, best = n, nil
			}
			if n == most {
				best = append(best, c)
			}
		}
		if len(best) < len(r.maybe) {
			r.maybe, changed = best, true
		}
	}
	return changed
}

// answered counts the edges of the run whose other ends are with the peers in
// that communicator.
func (p *process) answered(r *run, c *nccllog.Comm) int {
	n := 0
	g := p.groups[c]
	for _, e := range r.edges {
		if peer := g.procs[e.Peer()]; isNet(e) && peer != nil && peer.mayHave(otherEnd(e), g) {
			n++
		}
	}
	return n
}

func otherEnd(e *nccllog.Edge) end {
	if e.Direction == nccllog.Send {
		return end{linkOf(e), nccllog.Receive}
	}
	return end{linkOf(e), nccllog.Send}
}

// mayHave tells whether a run that can be the communicator's has the end.
func (p *process) mayHave(want end, g *communicator) bool {
	if p.ends == nil {
		p.ends = map[end][]*run{}
		for _, r := range p.runs {
			for _, e := range r.edges {
				if isNet(e) {
					p.ends[endOf(e)] = append(p.ends[endOf(e)], r)
				}
			}
		}
	}
	return slices.ContainsFunc(p.ends[want], func(r *run) bool {
		return slices.ContainsFunc(r.maybe, func(c *nccllog.Comm) bool { return p.groups[c] == g })
	})
}

// noteHabits notes what each communicator is known to have connected.
func noteHabits(procs []*process) {
	for _, p := range procs {
		for _, r := range p.runs {
			if len(r.maybe) != 1 {
				continue
			}
			for _, kind := range r.kinds {
				p.groups[r.maybe[0]].habits[kind] = true
			}
		}
	}
}

// heedHabits leaves to a run that is the process's only one of its kind the
// communicators that connected the like elsewhere: all ranks connect alike.
func (p *process) heedHabits() (changed bool) {
	open := map[string]int{}
	for _, r := range p.runs {
		if len(r.maybe) > 1 {
			for _, kind := range r.kinds {
				open[kind]++
			}
		}
	}
	for _, r := range p.runs {
		for _, kind := range r.kinds {
			if len(r.maybe) < 2 || open[kind] != 1 {
				continue
			}
			alike := slices.DeleteFunc(slices.Clone(r.maybe), func(c *nccllog.Comm) bool { return !p.groups[c].habits[kind] })
			if len(alike) > 0 && len(alike) < len(r.maybe) {
				r.maybe, changed = alike, true
			}
		}
	}
	return changed
}

// byCounting proves for a group of communicators what cannot be proven for
// each: where an edge was connected as often as the group has communicators,
// every one of them has it.
func (p *process) byCounting() {
	for _, group := range p.ambiguous() {
		times := map[end][]*nccllog.Edge{}
		finished := map[string]int{}
		for _, r := range group.runs {
			seen := map[end]bool{}
			for _, e := range r.edges {
				if !seen[endOf(e)] {
					seen[endOf(e)] = true
					times[endOf(e)] = append(times[endOf(e)], e)
				}
			}
			for _, kind := range slices.Compact(slices.Sorted(slices.Values(r.kinds))) {
				finished[kind]++
			}
		}
		for _, c := range group.comms {
			before := len(p.owned[c])
			for _, r := range group.runs {
				for _, e := range r.edges {
					if all := times[endOf(e)]; len(all) == len(group.comms) && all[0] == e && sameWay(all) {
						p.owned[c] = append(p.owned[c], e)
					}
				}
			}
			for kind, n := range finished {
				if n == len(group.comms) {
					p.kinds[c] = append(p.kinds[c], kind)
				}
			}
			if len(p.owned[c]) > before {
				p.counted = append(p.counted, c)
			}
		}
	}
}

// adopt gives connections of point-to-point calls, which could be of several
// communicators, to the only one of them that has no others. Should they be
// another's, then that one's are not proven, and the wrong network they cannot
// hide: it is the same for all of a communicator.
func (p *process) adopt() {
	idle := map[*nccllog.Comm]bool{}
	for _, c := range p.Comms {
		idle[c] = len(p.owned[c])+len(p.kinds[c]) == 0
	}
	for _, r := range p.runs {
		if len(r.maybe) < 2 || len(r.kinds) > 0 || slices.ContainsFunc(r.edges, func(e *nccllog.Edge) bool { return e.Conn == 0 && isNet(e) }) {
			continue
		}
		without := slices.DeleteFunc(slices.Clone(r.maybe), func(c *nccllog.Comm) bool { return !idle[c] })
		if len(without) == 1 {
			r.of = without[0]
			p.owned[r.of] = append(p.owned[r.of], r.edges...)
			p.adopted++
		}
	}
}

// sameWay tells whether the edges all use one transport.
func sameWay(edges []*nccllog.Edge) bool {
	for _, e := range edges {
		if e.Transport != edges[0].Transport || e.Net != edges[0].Net {
			return false
		}
	}
	return true
}

// cluster is a set of runs and the communicators among which they are.
type cluster struct {
	runs  []*run
	comms []*nccllog.Comm
}

func (p *process) ambiguous() []*cluster {
	var all []*cluster
	for _, r := range p.runs {
		if len(r.maybe) < 2 {
			continue
		}
		merged := &cluster{runs: []*run{r}, comms: slices.Clone(r.maybe)}
		rest := all[:0:0]
		for _, c := range all {
			if !slices.ContainsFunc(c.comms, func(o *nccllog.Comm) bool { return slices.Contains(merged.comms, o) }) {
				rest = append(rest, c)
				continue
			}
			merged.runs = append(c.runs, merged.runs...)
			for _, o := range c.comms {
				if !slices.Contains(merged.comms, o) {
					merged.comms = append(merged.comms, o)
				}
			}
		}
		all = append(rest, merged)
	}
	return all
}
