package fabric

import (
	"slices"

	"github.com/trainyard/trainyard/nccllog"
)

// attempts splits the processes into those of the last attempt and those of
// earlier ones. Two groups of processes are attempts of one job only on proof,
// see [follows]; without it all of them are one attempt, and the worst counts.
func attempts(ev Evidence, procs []*process, comms []*communicator) (last *job, earlier []*job) {
	groups := related(procs, comms)
	for _, g := range groups {
		for _, next := range groups {
			if g != next && len(next.comms) > 0 && next.follows(g, ev.Ranks) && !g.follows(next, ev.Ranks) {
				g.over = next
				break
			}
		}
	}
	kept, rest := &group{}, []*group{}
	lost := map[*group]*group{} // groups without a communicator, by what followed
	for _, g := range groups {
		switch into := lost[g.over]; {
		case g.over == nil:
			kept.take(g)
		case len(g.comms) > 0:
			rest = append(rest, g)
		case into == nil:
			lost[g.over] = g
			rest = append(rest, g)
		default:
			into.take(g)
		}
	}
	for _, g := range rest {
		earlier = append(earlier, newJob(ev, g.procs, g.comms))
	}
	return newJob(ev, kept.procs, kept.comms), earlier
}

// group is processes that share communicators.
type group struct {
	procs []*process
	comms []*communicator
	over  *group // the later attempt
	ended map[*nccllog.Log]int64
}

func (g *group) take(o *group) {
	g.procs, g.comms = append(g.procs, o.procs...), append(g.comms, o.comms...)
}

// related groups the processes, in their order.
func related(procs []*process, comms []*communicator) []*group {
	of := map[*process]*group{}
	for _, p := range procs {
		of[p] = &group{procs: []*process{p}}
	}
	for _, c := range comms {
		into := of[c.members[0].proc]
		for _, m := range c.members {
			if g := of[m.proc]; g != into {
				if len(g.procs) > len(into.procs) {
					g, into = into, g
				}
				for _, p := range g.procs {
					of[p] = into
				}
				into.take(g)
			}
		}
		into.comms = append(into.comms, c)
	}
	var all []*group
	seen := map[*group]bool{}
	for _, p := range procs {
		if g := of[p]; !seen[g] {
			seen[g] = true
			all = append(all, g)
		}
	}
	return all
}

// size is that of the group's largest communicator.
func (g *group) size() int {
	size := 0
	for _, c := range g.comms {
		size = max(size, c.ranks)
	}
	return size
}

// follows tells whether g is proven to be a later attempt of the job that o was
// an attempt of: as large at least, and either
//
//   - in a file that has both, one that began on a host of o's after o had
//     shown that it failed, or
//   - each has all ranks of the job, and the launcher says that g came later, or
//   - each has all ranks of the job, and in every rank's own file g's comes after
//     the last line of o's, which did not end.
func (g *group) follows(o *group, ranks int) bool {
	if g.size() < o.size() {
		return false
	}
	if ranks > 0 && g.size() == ranks && o.size() == ranks && g.whole() && o.whole() && o.launchedBefore(g) {
		return true
	}
	if g.relaunches(o, ranks) {
		return true
	}
	for file, at := range o.ends() {
		if g.begunAfter(file, at) && g.sharesHost(o) {
			return true
		}
	}
	return false
}

// relaunches tells whether each rank of g took the place of the same rank of o,
// in a file that is the rank's own: o was killed, as elastic launchers do.
func (g *group) relaunches(o *group, ranks int) bool {
	now, before := g.world(), o.world()
	if now == nil || before == nil || now.ranks != before.ranks || ranks > 0 && now.ranks != ranks ||
		len(g.procs) != now.ranks || len(o.procs) != now.ranks {
		return false
	}
	files := map[*nccllog.Log]bool{}
	for rank := range now.ranks {
		p, q := now.procs[rank], before.procs[rank]
		if files[p.log.Log] || !p.takesOver(q) {
			return false
		}
		files[p.log.Log] = true
	}
	return true
}

// takesOver tells whether p began in q's place and file after q's last line, and
// q did not end by itself.
func (p *process) takesOver(q *process) bool {
	return p.log.Log == q.log.Log && p.Host == q.Host && p.Host != "" && p.PID != q.PID && q.Last < p.First &&
		!slices.ContainsFunc(q.Comms, func(c *nccllog.Comm) bool { return c.Done.Seen() && !c.Aborted })
}

// world is the group's largest communicator if all its ranks were seen, each
// once.
func (g *group) world() *communicator {
	size := g.size()
	at := slices.IndexFunc(g.comms, func(c *communicator) bool {
		return c.ranks == size && len(c.members) == size && len(c.rivals) == 0
	})
	if at < 0 {
		return nil
	}
	return g.comms[at]
}

// whole tells whether all ranks of the group's largest communicator were seen.
func (g *group) whole() bool {
	size := g.size()
	return slices.ContainsFunc(g.comms, func(c *communicator) bool { return c.ranks == size && len(c.members) == size })
}

func (g *group) launchedBefore(o *group) bool {
	for _, p := range g.procs {
		for _, q := range o.procs {
			if p.log.Attempt == 0 || p.log.Attempt >= q.log.Attempt {
				return false
			}
		}
	}
	return true
}

// ends tells for each file where the group first showed that it had failed.
func (g *group) ends() map[*nccllog.Log]int64 {
	if g.ended != nil {
		return g.ended
	}
	g.ended = map[*nccllog.Log]int64{}
	for _, p := range g.procs {
		for _, v := range p.views {
			if line := v.end(); line > 0 && (g.ended[v.log.Log] == 0 || line < g.ended[v.log.Log]) {
				g.ended[v.log.Log] = line
			}
		}
	}
	return g.ended
}

// end is the line at which the process showed that it failed. What it destroyed
// in order ended well, whatever it says after that: what comes next is another
// job.
func (v view) end() int64 {
	first := int64(0)
	note := func(f nccllog.Fact) {
		if f.Seen() && (first == 0 || f.Line < first) {
			first = f.Line
		}
	}
	size := 0
	for _, c := range v.Comms {
		size = max(size, c.NRanks)
	}
	closed := int64(0)
	for _, c := range v.Comms {
		switch {
		case c.NRanks < size:
		case c.Aborted:
			note(c.Done)
		case c.Done.Seen() && (closed == 0 || c.Done.Line < closed):
			closed = c.Done.Line
		}
	}
	for _, e := range slices.Concat(v.Events, v.log.Errors) {
		if breaks(e) && e.Line > v.begin() && (closed == 0 || e.Line < closed) {
			note(e.Fact)
		}
	}
	if s, ok := v.Step(nccllog.StepNone, ""); ok {
		note(s.Fact)
	}
	return first
}

// breaks tells whether a communicator does not survive the event.
func breaks(e nccllog.Event) bool {
	switch e.Kind {
	case nccllog.EventNetwork, nccllog.EventTimeout, nccllog.EventTorch, nccllog.EventBootstrap, nccllog.EventMismatch:
		return true
	}
	return false
}

// begin is the line with which NCCL begins in a process, 0 where not seen.
func (v view) begin() int64 {
	switch b, n := v.Bootstrap.Line, v.Version.Line; {
	case b == 0 || n == 0:
		return max(b, n)
	default:
		return min(b, n)
	}
}

func (g *group) begunAfter(file *nccllog.Log, line int64) bool {
	found := false
	for _, p := range g.procs {
		for _, v := range p.views {
			if v.log.Log != file {
				continue
			}
			if v.begin() <= line {
				return false
			}
			found = true
		}
	}
	return found
}

func (g *group) sharesHost(o *group) bool {
	hosts := map[string]bool{}
	for _, p := range o.procs {
		hosts[p.Host] = true
	}
	return slices.ContainsFunc(g.procs, func(p *process) bool { return p.Host != "" && hosts[p.Host] })
}

// supersede marks communicators that broke before the same processes made the
// world's communicator anew. One that was destroyed in order did its work.
func (j *job) supersede() {
	for _, g := range j.comms {
		g.over = slices.ContainsFunc(j.comms, func(next *communicator) bool { return next.replaces(g) })
	}
}

func (g *communicator) replaces(old *communicator) bool {
	if g == old || g.ranks < old.ranks {
		return false
	}
	if len(g.members) < len(old.members) { // cheap, and it must hold all of them
		return false
	}
	for _, m := range old.members {
		at := slices.IndexFunc(g.members, func(n member) bool { return n.proc == m.proc })
		if at < 0 {
			return false
		}
		next := g.members[at].Comm
		if next.Parent != 0 || next.NRanks < m.proc.world() || !next.Started.Seen() || !m.proc.brokeBefore(m.Comm, next.Started.Line) {
			return false
		}
	}
	return len(old.members) > 0
}

// world is the size of the process's largest communicator.
func (p *process) world() int {
	size := 0
	for _, c := range p.Comms {
		size = max(size, c.NRanks)
	}
	return size
}

// brokeBefore tells whether the communicator broke before the line.
func (p *process) brokeBefore(c *nccllog.Comm, line int64) bool {
	if c.Done.Seen() {
		return c.Aborted && c.Done.Line < line
	}
	begin := opened(c)
	return begin > 0 && begin < line && slices.ContainsFunc(p.Events, func(e nccllog.Event) bool {
		return breaks(e) && begin < e.Line && e.Line < line
	})
}

// attempt is the row of an attempt in a later one's verdict.
func (j *job) attempt() Attempt {
	f := j.decide()
	return Attempt{Ranks: j.ranks, Verdict: f.outcome, Transport: f.transport, Cause: f.cause, Summary: f.summary}
}

// supersededComms are attempts within the same processes, each by its largest
// communicator.
func (j *job) supersededComms() []Attempt {
	var all []Attempt
	for i, g := range j.comms {
		if g.over && g.members[0].Parent == 0 {
			f := j.found[i]
			all = append(all, Attempt{
				Ranks:   Coverage{Expected: g.ranks, Seen: len(g.members)},
				Verdict: f.outcome, Transport: f.transport, Cause: f.cause, Summary: f.summary,
			})
		}
	}
	return all
}
