package fabric

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// loose lists what processes began and no communicator accounts for. A line that
// nothing explains may be all that is left of a rank, or of a communicator, on
// another network.
func (j *job) loose() []finding {
	var all []finding
	for _, p := range j.procs {
		all = append(all, j.otherViews(p)...)
		for _, check := range [...]func(*process) (finding, bool){j.withoutComm, j.unclaimed, j.startedMore} {
			if f, ok := check(p); ok {
				all = append(all, f)
			}
		}
	}
	if f, ok := j.quiet(); ok {
		all = append(all, f)
	}
	return all
}

// withoutComm: a process that printed lines of NCCL and none about a communicator.
func (j *job) withoutComm(p *process) (finding, bool) {
	if len(p.Comms) > 0 || p.Info+p.Warn == 0 {
		return finding{}, false
	}
	if p.Info == 0 {
		f := j.unknown(DebugTooLow, fmt.Sprintf("%s (%s) printed warnings only", p.label(), p.log.Source))
		return f, true
	}
	f := j.unknown(RanksMissing, fmt.Sprintf("%s (%s) began NCCL, and the logs show no communicator of it%s", p.label(), p.log.Source, j.said(p.Networks)))
	f.quotes = p.beginning(view{p.Process, p.log})
	return f, true
}

// beginning are the lines that say most of a process that did not get far.
func (p *process) beginning(v view) []Quote {
	var quotes []Quote
	for _, n := range v.Networks {
		quotes = append(quotes, quote(v.log, n.Fact))
	}
	for _, f := range v.Starts {
		quotes = append(quotes, quote(v.log, f))
	}
	if len(quotes) == 0 && len(v.Steps) > 0 {
		quotes = append(quotes, quote(v.log, v.Steps[len(v.Steps)-1].Fact))
	}
	return quotes
}

// said continues a sentence with the networks that were named.
func (j *job) said(networks []nccllog.Value) string {
	names := make([]string, 0, len(networks))
	for _, n := range networks {
		names = append(names, n.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return "; it said that it uses " + list(names)
}

// unclaimed: a network was chosen for a communicator of which every line is lost.
func (j *job) unclaimed(p *process) (finding, bool) {
	if len(p.Unclaimed) == 0 || !p.namesEarly() {
		return finding{}, false
	}
	last := p.Unclaimed[len(p.Unclaimed)-1]
	f := j.unknown(EdgesMissing, fmt.Sprintf("%s (%s) chose the network %s for a communicator of which the logs show nothing else", p.label(), p.log.Source, last.Name))
	f.quotes = []Quote{quote(p.log, last.Fact)}
	return f, true
}

// namesEarly: NCCL before 2.18 names a communicator when it is complete, which
// another thread may do than the one that chose the network.
func (p *process) namesEarly() bool {
	return slices.ContainsFunc(p.Comms, func(c *nccllog.Comm) bool { return c.Started.Seen() || c.Sized.Seen() })
}

// startedMore: NCCL began several times under one host and id, and one time
// nothing came of it.
func (j *job) startedMore(p *process) (finding, bool) {
	if len(p.Comms) == 0 || len(p.Starts) < 2 {
		return finding{}, false
	}
	for i, start := range p.Starts {
		from, to := p.life(i)
		if !slices.ContainsFunc(p.Comms, func(c *nccllog.Comm) bool { return shows(c, from, to) }) {
			f := j.unknown(RanksMissing, fmt.Sprintf("NCCL began %d times in %s (%s), and the logs show no communicator for one of them", len(p.Starts), p.label(), p.log.Source))
			f.quotes = []Quote{quote(p.log, start)}
			return f, true
		}
	}
	return finding{}, false
}

// shows tells whether a line of the communicator's initialisation is in the range.
func shows(c *nccllog.Comm, from, to int64) bool {
	for _, f := range [...]nccllog.Fact{c.Started, c.Sized, c.Completed} {
		if f.Seen() && from <= f.Line && f.Line < to {
			return true
		}
	}
	return false
}

// quiet: a file with a version line alone is that of a process that was told to
// say no more, since NCCL 2.22; before, that line goes to standard output even
// where all others go to a file.
func (j *job) quiet() (finding, bool) {
	for _, log := range j.Logs {
		if log.Info == 0 && log.Banner.AtLeast(2, 22, 0) {
			f := j.unknown(DebugTooLow, fmt.Sprintf("%s holds NCCL's version and nothing else of it", log.Source))
			f.quotes = []Quote{quote(log, log.Banner.Fact)}
			return f, true
		}
	}
	return finding{}, false
}

// otherViews judges what other files say of a process, as far as the one that
// says most does not say it too.
func (j *job) otherViews(p *process) []finding {
	var all []finding
	for _, v := range p.views {
		if v.Process == p.Process {
			continue
		}
		if f, ok := j.moreEdges(p, v); ok {
			all = append(all, f)
		}
		if f, ok := j.moreWords(p, v); ok {
			all = append(all, f)
		}
	}
	return all
}

// moreEdges finds edges over a network that the fullest view lacks.
func (j *job) moreEdges(p *process, v view) (finding, bool) {
	type way struct {
		end
		net string
	}
	known := map[way]bool{}
	for _, e := range p.net {
		known[way{endOf(e), e.Net}] = len(v.Comms) > 0 || !j.isOwn(v)
	}
	part := &process{Process: v.Process, log: v.log, name: p.label()}
	part.net = slices.DeleteFunc(slices.Clone(v.Edges), func(e *nccllog.Edge) bool { return !isNet(e) || known[way{endOf(e), e.Net}] })
	for _, e := range part.net {
		t := part.transport(e.Net)
		if t == TransportUnknown {
			t = p.transport(e.Net)
		}
		if t != TransportUnknown && !j.Expectation.Accepts(t) {
			return j.wrong([]*process{part}, t, 1), true
		}
	}
	if len(part.net) == 0 {
		return finding{}, false
	}
	return j.scattered(p, v), true
}

// scattered: the log of one process is in several files, and no one has all.
func (j *job) scattered(p *process, v view) finding {
	f := j.unknown(EdgesMissing, fmt.Sprintf("the log of %s is in several files (%s, %s), and none of them has all: its lines cannot be put together", p.label(), p.log.Source, v.log.Source))
	f.remedy = "put the parts of each rank's log together in order, and judge those"
	return f
}

// moreWords finds networks, providers, communicators and starts that the fullest
// view lacks.
func (j *job) moreWords(p *process, v view) (finding, bool) {
	for _, n := range v.Networks {
		if isNetwork(n.Name) && !slices.ContainsFunc(p.Networks, func(o nccllog.Value) bool { return strings.EqualFold(o.Name, n.Name) }) {
			f := j.unknown(EdgesMissing, fmt.Sprintf("%s says in %s that it uses %s, and in %s it does not", p.label(), v.log.Source, n.Name, p.log.Source))
			f.quotes = []Quote{quote(v.log, n.Fact)}
			return f, true
		}
	}
	for _, o := range v.Providers {
		if len(p.Providers) > 0 && !slices.ContainsFunc(p.Providers, func(m nccllog.Provider) bool { return m.Base() == o.Base() }) {
			f := j.unknown(ProviderMissing, fmt.Sprintf("%s names the provider %s in %s, and another in %s", p.label(), o.Base(), v.log.Source, p.log.Source))
			f.quotes = []Quote{quote(v.log, o.Fact)}
			return f, true
		}
	}
	for _, c := range v.Comms {
		if isShared(c) && !slices.ContainsFunc(p.Comms, func(o *nccllog.Comm) bool { return sameComm(c, o) }) {
			return j.scattered(p, v), true
		}
	}
	if len(v.Comms) == 0 && len(p.Comms) > 0 && len(v.Starts) > 0 && j.isOwn(v) {
		f := j.unknown(RanksMissing, fmt.Sprintf("%s holds another start of %s, and no communicator%s", v.log.Source, p.label(), j.said(v.Networks)))
		f.quotes = p.beginning(v)
		return f, true
	}
	return finding{}, false
}

// isOwn tells whether the file is what processes wrote themselves. One that copies
// the output of others, as Ray's driver log does, names their machines, folds
// their lines, or shows several and none of them best.
func (j *job) isOwn(v view) bool {
	if v.RayIP != "" || v.log.Repeated.Count > 0 {
		return false
	}
	return len(v.log.Processes) == 1 || slices.ContainsFunc(j.procs, func(p *process) bool { return p.log.Log == v.log.Log && len(p.Comms) > 0 })
}
