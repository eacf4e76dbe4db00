package fabric

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/trainyard/trainyard/nccllog"
)

// Judge decides which network carried a job.
func Judge(ev Evidence) Verdict {
	if ev.Expectation == "" {
		ev.Expectation = Any
	}
	ev.Logs = slices.DeleteFunc(slices.Clone(ev.Logs), func(l LogFile) bool { return l.Log == nil })
	procs := collect(ev.Logs)
	last, earlier := attempts(ev, procs, communicators(procs))
	f := last.decide()
	v := last.verdict(f)
	for _, j := range earlier {
		v.Attempts = append(v.Attempts, j.attempt())
	}
	v.Attempts = append(v.Attempts, last.supersededComms()...)
	v.Reasoning = last.reasoning(f, len(v.Attempts))
	return v
}

// job is the evidence on one attempt, sorted.
type job struct {
	Evidence
	procs []*process
	comms []*communicator
	ranks Coverage
	found []finding // on comms

	trouble []trouble // made when needed
}

func newJob(ev Evidence, procs []*process, comms []*communicator) *job {
	j := &job{Evidence: ev, procs: procs, comms: comms}
	j.supersede()
	j.ranks = j.coverage()
	return j
}

func (j *job) verdict(f finding) Verdict {
	v := Verdict{
		Version: Version, Expectation: j.Expectation, Ranks: j.ranks,
		Processes: make([]Process, 0, len(j.procs)), Communicators: make([]Communicator, 0, len(j.comms)),
		Warnings: []Warning{}, Attempts: []Attempt{}, Reasoning: []Step{}, Edges: j.edgeCounts(),
	}
	for _, p := range j.procs {
		v.Processes = append(v.Processes, p.row(j.Expectation))
	}
	for i, g := range j.comms {
		v.Communicators = append(v.Communicators, g.row(j.found[i]))
	}
	v.Verdict, v.Transport, v.Cause, v.Summary = f.outcome, f.transport, f.cause, f.summary
	v.Remedy = cmp.Or(f.remedy, f.cause.Info().Remedy)
	v.Evidence = tidy(f.quotes)
	v.Warnings = append(v.Warnings, j.warnings(f)...)
	return v
}

func (g *communicator) row(f finding) Communicator {
	return Communicator{
		ID: g.id, Nodes: g.nodes, Ranks: Coverage{Expected: g.ranks, Seen: len(g.members)},
		Verdict: f.outcome, Transport: f.transport, Cause: f.cause,
	}
}

// decide combines the findings on communicators with what concerns no
// communicator: of several the worst counts, and the first of equals.
func (j *job) decide() finding {
	var all []finding
	for _, g := range j.comms {
		f := j.communicator(g)
		j.found = append(j.found, f)
		if !g.over {
			all = append(all, f)
		}
	}
	all = crossing(all)
	all = append(all, j.strays()...)
	if f, ok := j.neverStarted(); ok {
		all = append(all, f)
	}
	for _, f := range j.loose() {
		if len(all) > 0 || f.outcome == Fail {
			all = append(all, f)
		}
	}
	switch {
	case len(all) == 0 && j.alone():
		return j.oneRank()
	case len(all) == 0:
		return j.silence()
	}
	worst := slices.MaxFunc(all, func(a, b finding) int {
		return cmp.Compare(a.outcome.severity(), b.outcome.severity())
	})
	switch {
	case worst.outcome == Fail:
		return j.failed(worst, all)
	case j.alone():
		return j.oneRank()
	case worst.outcome == Pass:
		return j.passed(all)
	}
	return worst
}

// crossing leaves out what used no network where others did: groups within a
// node, or within the machines that NVLink joins, are normal in larger jobs.
func crossing(all []finding) []finding {
	for _, cause := range [...]Cause{SingleNode, MNNVLOnly} {
		is := func(f finding) bool { return f.cause == cause }
		if rest := slices.DeleteFunc(slices.Clone(all), is); len(rest) > 0 {
			all = rest
			continue
		}
		all = all[:min(len(all), 1)]
	}
	return all
}

// passed is the finding on a job of which every communicator is proven.
func (j *job) passed(all []finding) finding {
	f := all[0]
	if len(all) > 1 {
		f.transport = over(all)
		f.summary = fmt.Sprintf("all %d communicators that span nodes used %s", len(all), f.transport.words())
		if j.ranks.Expected > 0 {
			f.summary = fmt.Sprintf("%s, %d ranks in all", f.summary, j.ranks.Expected)
		}
	}
	if j.ranks.Seen < j.ranks.Expected {
		return j.unknown(RanksMissing, fmt.Sprintf("%d of %d ranks are in the logs", j.ranks.Seen, j.ranks.Expected))
	}
	if seen := j.nodesSeen(); seen < j.Nodes {
		return j.unknown(RanksMissing, fmt.Sprintf("%d of %d nodes are in the logs, as NCCL counts them", seen, j.Nodes))
	}
	if flat, ok := j.flat(f); ok {
		return flat
	}
	return f
}

// over is the transport of several findings. NVLink between some machines does
// not make a job mixed.
func over(all []finding) Transport {
	var seen transports
	for _, f := range all {
		if f.transport != TransportNone && f.transport != TransportUnknown && f.transport != TransportMNNVL {
			seen.add(f.transport)
		}
	}
	return seen.one(all[0].transport)
}

// alone tells whether the job is known to have had one rank, on a GPU: NCCL may
// have said little or nothing then, and nothing is missing.
func (j *job) alone() bool {
	return j.Ranks == 1 && j.GPUs != 0 &&
		!slices.ContainsFunc(j.comms, func(g *communicator) bool { return g.ranks > 1 })
}

// failed names the transport over all communicators where they differ.
func (j *job) failed(worst finding, all []finding) finding {
	if over(all) == TransportMixed {
		worst.transport = TransportMixed
	}
	return worst
}

// strays judges edges that could not be given to one communicator. They can be
// enough for a FAIL, never for a PASS.
func (j *job) strays() []finding {
	var incomplete []finding
	for _, p := range j.procs {
		if len(p.Comms) == 0 && len(p.Edges) > 0 {
			incomplete = append(incomplete, j.unknown(SubsysFiltered, p.label()+" shows edges, but no line about the communicator they belong to"))
		}
		for _, r := range p.runs {
			if r.of != nil || p.isOver(r) {
				continue
			}
			for _, e := range r.edges {
				if !isNet(e) {
					continue
				}
				if t := p.transport(e.Net); t != TransportUnknown && !j.Expectation.Accepts(t) {
					return []finding{j.wrong([]*process{p}, t, 1)}
				}
				if len(incomplete) == 0 && !p.twoEnded(r, e) {
					incomplete = append(incomplete, j.unknown(EdgesMissing, p.label()+" has an edge over a network whose other end is not in the logs"))
				}
			}
		}
	}
	return incomplete[:min(len(incomplete), 1)]
}

// isOver tells whether the run can only be of communicators of earlier attempts.
func (p *process) isOver(r *run) bool {
	return len(r.maybe) > 0 && !slices.ContainsFunc(r.maybe, func(c *nccllog.Comm) bool { return !p.groups[c].over })
}

// twoEnded tells whether the other end of the edge is in one of the
// communicators that the run may be for.
func (p *process) twoEnded(r *run, e *nccllog.Edge) bool {
	return slices.ContainsFunc(r.maybe, func(c *nccllog.Comm) bool {
		peer := p.groups[c].procs[e.Peer()]
		return peer != nil && peer.mayHave(otherEnd(e), p.groups[c])
	})
}

// neverStarted finds processes whose communicator could not be made.
func (j *job) neverStarted() (finding, bool) {
	for _, p := range j.procs {
		for _, v := range p.views {
			part := &process{Process: v.Process, log: v.log, name: p.label()}
			why := explainFailure(part)
			if len(why) == 0 {
				continue
			}
			f := finding{outcome: Fail, transport: TransportNone, cause: why[0].cause, rule: ruleNoStart, suspect: part, why: why}
			for _, r := range why {
				f.quotes = append(f.quotes, r.quotes(part)...)
			}
			f.summary = fmt.Sprintf("NCCL did not start for %s: %s", p.label(), why[0].cause.Info().Why)
			return f, true
		}
	}
	return finding{}, false
}

// silence judges logs without communicators and without failures.
func (j *job) silence() finding {
	var lines int64
	for _, log := range j.Logs {
		lines += log.Info
		if log.Banner.Seen() || log.Warn > 0 {
			lines = max(lines, 1)
		}
	}
	switch {
	case lines == 0 && j.GPUs == 0:
		f := j.unknown(NoGPU, "no GPU here, so NCCL carried nothing: nothing to prove")
		f.transport, f.rule = TransportNone, ruleNothing
		return f
	case lines == 0:
		return j.unknown(NoNCCLOutput, "the logs hold no line of NCCL")
	case !slices.ContainsFunc(j.procs, func(p *process) bool { return p.Info > 0 }):
		f := j.unknown(DebugTooLow, "NCCL printed no more than its version or warnings")
		for _, log := range j.Logs {
			if log.Banner.Seen() {
				f.quotes = append(f.quotes, quote(log, log.Banner.Fact))
			}
		}
		return f
	case slices.ContainsFunc(j.procs, (*process).began):
		return j.unknown(EdgesMissing, "NCCL began to start, and no communicator was made yet")
	}
	return j.unknown(SubsysFiltered, "NCCL's lines about initialisation are not in the logs")
}

// began tells whether the process printed lines of NCCL's initialisation.
func (p *process) began() bool {
	return p.Bootstrap.Seen() || p.Version.Seen() || len(p.Networks) > 0 || len(p.Steps) > 0
}

func not[T any](is func(T) bool) func(T) bool {
	return func(v T) bool { return !is(v) }
}
