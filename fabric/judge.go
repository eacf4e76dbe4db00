package fabric

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/trainyard/trainyard/nccllog"
)

// finding is a judgement on a part of the job.
type finding struct {
	outcome   Outcome
	transport Transport
	cause     Cause
	summary   string
	remedy    string // where the cause's own is not all
	quotes    []Quote
}

// Judge decides which network carried a job.
func Judge(ev Evidence) Verdict {
	if ev.Expectation == "" {
		ev.Expectation = Any
	}
	ev.Logs = slices.DeleteFunc(slices.Clone(ev.Logs), func(l LogFile) bool { return l.Log == nil })
	j := job{Evidence: ev, procs: collect(ev.Logs)}
	j.comms = communicators(j.procs)
	return j.verdict()
}

// job is the evidence, sorted.
type job struct {
	Evidence
	procs []*process
	comms []*communicator
}

func (j *job) verdict() Verdict {
	v := Verdict{
		Version: Version, Expectation: j.Expectation, Ranks: j.coverage(),
		Processes: []Process{}, Communicators: []Communicator{}, Warnings: []Warning{}, Attempts: []Attempt{}, Reasoning: []Step{},
		Edges: j.edgeCounts(),
	}
	for _, p := range j.procs {
		v.Processes = append(v.Processes, p.row(j.Expectation))
	}
	var findings []finding
	for _, g := range j.comms {
		f := j.communicator(g)
		v.Communicators = append(v.Communicators, g.row(f))
		findings = append(findings, f)
	}
	f := j.decide(findings)
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
func (j *job) decide(comms []finding) finding {
	all := slices.Clone(comms)
	if oneNode := func(f finding) bool { return f.cause == SingleNode }; !slices.ContainsFunc(all, not(oneNode)) {
		all = all[:min(len(all), 1)]
	} else { // groups within a node are normal in a job that spans nodes
		all = slices.DeleteFunc(all, oneNode)
	}
	all = append(all, j.strays()...)
	if f, ok := j.neverStarted(); ok {
		all = append(all, f)
	}
	if len(all) == 0 && j.alone() {
		return j.oneRank()
	}
	if len(all) == 0 {
		return j.silence()
	}
	worst := slices.MaxFunc(all, func(a, b finding) int {
		return cmp.Compare(a.outcome.severity(), b.outcome.severity())
	})
	if worst.outcome == Fail {
		return j.failed(worst, all)
	}
	if j.alone() {
		return j.oneRank()
	}
	if ranks := j.coverage(); worst.outcome == Pass && ranks.Seen < ranks.Expected {
		return j.unknown(RanksMissing, fmt.Sprintf("%d of %d ranks are in the logs", ranks.Seen, ranks.Expected))
	}
	return worst
}

// alone tells whether the job is known to have had one rank, on a GPU: NCCL may
// have said little or nothing then, and nothing is missing.
func (j *job) alone() bool {
	return j.Ranks == 1 && j.GPUs != 0 &&
		!slices.ContainsFunc(j.comms, func(g *communicator) bool { return g.ranks > 1 })
}

// failed names the transport over all communicators where they differ.
func (j *job) failed(worst finding, all []finding) finding {
	var seen transports
	for _, f := range all {
		if f.transport != TransportNone && f.transport != TransportUnknown {
			seen.add(f.transport)
		}
	}
	if len(seen) > 1 {
		worst.transport = TransportMixed
	}
	return worst
}

// coverage counts ranks. Where the world size is not known, the largest
// communicator stands for it.
func (j *job) coverage() Coverage {
	expected, seen, holders := j.Ranks, 0, 0
	for _, g := range j.comms {
		seen = max(seen, len(g.members))
		if j.Ranks == 0 {
			expected = max(expected, g.ranks)
		}
	}
	for _, p := range j.procs {
		if p.rank() >= 0 {
			holders++
		}
	}
	seen = max(seen, holders)
	if expected > 0 {
		seen = min(seen, expected)
	}
	return Coverage{Expected: expected, Seen: seen}
}

// strays judges edges that could not be given to a communicator.
func (j *job) strays() []finding {
	for _, p := range j.procs {
		for _, e := range p.netEdges() {
			t := p.transport(e.Net)
			if p.CommOf(e) == nil && t != TransportUnknown && !j.Expectation.Accepts(t) {
				return []finding{j.wrong([]*process{p}, t)}
			}
		}
		if len(p.Comms) == 0 && len(p.Edges) > 0 {
			return []finding{j.unknown(SubsysFiltered, "edges were seen, but no line about the communicator they belong to")}
		}
	}
	return nil
}

// neverStarted finds processes whose communicator could not be made.
func (j *job) neverStarted() (finding, bool) {
	for _, p := range j.procs {
		r, ok := explainFailure(p)
		if !ok {
			continue
		}
		f := finding{outcome: Fail, transport: TransportNone, cause: r.cause, quotes: r.quotes(p)}
		for _, more := range explainPlugin(p) {
			f.quotes = append(f.quotes, more.quotes(p)...)
		}
		f.summary = fmt.Sprintf("NCCL did not start for %s: %s", p.label(), r.cause.Info().Why)
		return f, true
	}
	return finding{}, false
}

func (j *job) unknown(cause Cause, summary string) finding {
	return finding{outcome: Unknown, transport: TransportUnknown, cause: cause, summary: summary}
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
		f.transport = TransportNone
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

// warnings lists what people should know beside the verdict.
func (j *job) warnings(f finding) []Warning {
	var all []Warning
	for _, p := range j.procs {
		for _, e := range p.Events {
			if e.Kind == nccllog.EventNetwork && f.cause != NetworkError {
				all = append(all, Warning{
					Cause: NetworkError, Text: fmt.Sprintf("%s reports a network error, %d times", p.label(), e.Count),
					Evidence: []Quote{quote(p.log, e.Fact)},
				})
			}
		}
	}
	if j.Nodes > 1 && f.cause == SingleNode {
		all = append(all, Warning{
			Cause: SingleNode, Text: fmt.Sprintf("the job had %d nodes, but NCCL saw one: processes of one machine count as one node", j.Nodes),
			Evidence: []Quote{},
		})
	}
	return all[:min(len(all), maxQuotes)]
}

func not[T any](is func(T) bool) func(T) bool {
	return func(v T) bool { return !is(v) }
}
