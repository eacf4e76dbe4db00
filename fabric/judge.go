package fabric

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// maxQuotes keeps a verdict readable.
const maxQuotes = 6

// finding is a judgement on a part of the job.
type finding struct {
	outcome   Outcome
	transport Transport
	cause     Cause
	summary   string
	quotes    []Quote
}

// Judge decides which network carried a job.
func Judge(ev Evidence) Verdict {
	if ev.Expectation == "" {
		ev.Expectation = Any
	}
	c := courtroom{Evidence: ev, procs: collect(ev.Logs)}
	c.comms = communicators(c.procs)
	return c.verdict()
}

// courtroom is the evidence, sorted.
type courtroom struct {
	Evidence
	procs []*process
	comms []*communicator
}

func (c *courtroom) verdict() Verdict {
	v := Verdict{
		Version: Version, Expectation: c.Expectation, Ranks: c.coverage(),
		Processes: []Process{}, Communicators: []Communicator{}, Warnings: []string{},
		Edges: c.edgeCounts(),
	}
	for _, p := range c.procs {
		v.Processes = append(v.Processes, p.row(c.Expectation))
	}
	var findings []finding
	for _, g := range c.comms {
		f := c.communicator(g)
		v.Communicators = append(v.Communicators, g.row(f))
		findings = append(findings, f)
	}
	f := c.decide(findings)
	v.Verdict, v.Transport, v.Cause, v.Summary = f.outcome, f.transport, f.cause, f.summary
	if f.cause != "" {
		v.Remedy = f.cause.Info().Remedy
	}
	v.Evidence = tidy(f.quotes)
	v.Warnings = append(v.Warnings, c.warnings(f)...)
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
func (c *courtroom) decide(comms []finding) finding {
	all := slices.Clone(comms)
	if oneNode := func(f finding) bool { return f.cause == SingleNode }; !slices.ContainsFunc(all, not(oneNode)) {
		all = all[:min(len(all), 1)]
	} else { // groups within a node are normal in a job that spans nodes
		all = slices.DeleteFunc(all, oneNode)
	}
	all = append(all, c.strays()...)
	if f, ok := c.neverStarted(); ok {
		all = append(all, f)
	}
	if len(all) == 0 {
		return c.silence()
	}
	worst := slices.MaxFunc(all, func(a, b finding) int {
		return cmp.Compare(a.outcome.severity(), b.outcome.severity())
	})
	if worst.outcome == Fail {
		return c.failed(worst, all)
	}
	if ranks := c.coverage(); worst.outcome == Pass && ranks.Seen < ranks.Expected {
		return c.unknown(RanksMissing, fmt.Sprintf("%d of %d ranks are in the logs", ranks.Seen, ranks.Expected))
	}
	return worst
}

// failed names the transport over all communicators where they differ.
func (c *courtroom) failed(worst finding, all []finding) finding {
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
func (c *courtroom) coverage() Coverage {
	expected, seen, holders := c.Ranks, 0, 0
	for _, g := range c.comms {
		seen = max(seen, len(g.members))
		if c.Ranks == 0 {
			expected = max(expected, g.ranks)
		}
	}
	for _, p := range c.procs {
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

// communicator judges one communicator.
func (c *courtroom) communicator(g *communicator) finding {
	if !g.spansNodes() {
		return c.oneNode(g)
	}
	if g.networks().differ() {
		return c.mixed(g)
	}
	seen := g.edgeTransports()
	for _, t := range seen.known() {
		if !c.Expectation.Accepts(t) {
			return c.wrong(g.processes(), t)
		}
	}
	if f, ok := c.incomplete(g); ok {
		return f
	}
	if g.nodes == 1 {
		return c.oneNode(g)
	}
	t := seen[0]
	var quotes []Quote
	for _, m := range g.members {
		quotes = append(quotes, netQuotes(m.proc, t)...)
	}
	return finding{
		outcome: Pass, transport: t, quotes: quotes,
		summary: fmt.Sprintf("all %d ranks crossed nodes over %s", g.ranks, t.words()),
	}
}

func (g *communicator) processes() []*process {
	var procs []*process
	for _, m := range g.members {
		if !slices.Contains(procs, m.proc) {
			procs = append(procs, m.proc)
		}
	}
	return procs
}

func (c *courtroom) oneNode(g *communicator) finding {
	if g.nodes == 0 {
		f, _ := c.incomplete(g)
		return f
	}
	f := c.unknown(SingleNode, fmt.Sprintf("all %d ranks were on one node, so the network was not used", g.ranks))
	f.transport = TransportNone
	for _, m := range g.members {
		f.quotes = append(f.quotes, quote(m.proc.log, m.Sized))
	}
	return f
}

// mixed names the ranks that use what fewest of them use.
func (c *courtroom) mixed(g *communicator) finding {
	users := map[Transport][]*process{}
	for _, p := range g.processes() {
		t := cmp.Or(p.choice(), TransportUnknown)
		users[t] = append(users[t], p)
	}
	kinds := slices.SortedFunc(maps.Keys(users), func(a, b Transport) int {
		return cmp.Or(cmp.Compare(len(users[b]), len(users[a])), cmp.Compare(a, b))
	})
	var parts []string
	f := finding{outcome: Fail, transport: TransportMixed, cause: MixedNetworks}
	for _, t := range kinds {
		names := make([]string, 0, len(users[t]))
		for _, p := range users[t] {
			names = append(names, p.label())
		}
		parts = append(parts, fmt.Sprintf("%s on %s", list(names), t.words()))
		f.quotes = append(f.quotes, netQuotes(users[t][0], t)...)
	}
	last := users[kinds[len(kinds)-1]][0]
	for _, r := range explain(last, c.Expectation) {
		f.quotes = append(f.quotes, r.quotes(last)...)
	}
	f.summary = "ranks of one communicator use different networks: " + strings.Join(parts, ", ")
	return f
}

// wrong: the ranks' edges are proven to use another network than expected.
func (c *courtroom) wrong(procs []*process, t Transport) finding {
	var guilty []*process
	for _, p := range procs {
		if slices.ContainsFunc(p.netEdges(), func(e *nccllog.Edge) bool { return p.transport(e.Net) == t }) {
			guilty = append(guilty, p)
		}
	}
	f := finding{outcome: Fail, transport: t, cause: OtherNetwork}
	first := guilty[0]
	if why := explain(first, c.Expectation); len(why) > 0 {
		f.cause = why[0].cause
		for _, r := range why {
			f.quotes = append(f.quotes, r.quotes(first)...)
		}
	}
	f.quotes = append(f.quotes, netQuotes(first, t)...)
	f.summary = fmt.Sprintf("%d of %d ranks crossed nodes over %s where %s was expected: %s",
		len(guilty), max(len(procs), c.coverage().Expected), t.words(), c.Expectation.words(), f.cause.Info().Why)
	return f
}

// strays judges edges that could not be given to a communicator.
func (c *courtroom) strays() []finding {
	for _, p := range c.procs {
		for _, e := range p.netEdges() {
			t := p.transport(e.Net)
			if p.CommOf(e) == nil && t != TransportUnknown && !c.Expectation.Accepts(t) {
				return []finding{c.wrong([]*process{p}, t)}
			}
		}
		if len(p.Comms) == 0 && len(p.Edges) > 0 {
			return []finding{c.unknown(SubsysFiltered, "edges were seen, but no line about the communicator they belong to")}
		}
	}
	return nil
}

// neverStarted finds processes whose communicator could not be made.
func (c *courtroom) neverStarted() (finding, bool) {
	for _, p := range c.procs {
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

// incomplete says what is missing for a proof.
func (c *courtroom) incomplete(g *communicator) (finding, bool) {
	gap := g.gap()
	for _, m := range g.members {
		if cause := m.proc.loss(); cause != "" {
			return c.lossy(m.proc, cause), true
		}
	}
	if len(g.members) < g.ranks {
		return c.unknown(RanksMissing, fmt.Sprintf("%d of %d ranks are in the logs", len(g.members), g.ranks)), true
	}
	if g.contradictions > 0 {
		return c.unknown(EdgesMissing, "communicators without an id cannot be told apart"), true
	}
	if gap != "" {
		if f, ok := c.networkError(g); ok {
			return f, true
		}
		return c.unknown(EdgesMissing, "not all edges are in the logs: "+gap), true
	}
	for _, m := range g.members {
		for _, e := range m.edges {
			if e.Transport == nccllog.NET && m.proc.transport(e.Net) == TransportUnknown {
				f := c.unknown(ProviderMissing, m.proc.label()+" uses Libfabric, and no single line tells over which provider")
				f.quotes = append(f.quotes, quote(m.proc.log, e.Fact))
				return f, true
			}
		}
	}
	return finding{}, false
}

func (c *courtroom) lossy(p *process, cause Cause) finding {
	f := c.unknown(cause, fmt.Sprintf("%s: %s, so its evidence is incomplete", p.label(), cause.Info().Why))
	for _, t := range []nccllog.Tally{p.log.Repeated, p.log.Cut, p.log.Unparsed} {
		if t.Count > 0 {
			f.quotes = append(f.quotes, quote(p.log, t.First))
		}
	}
	return f
}

func (c *courtroom) networkError(g *communicator) (finding, bool) {
	for _, m := range g.members {
		for _, e := range m.proc.Events {
			if e.Kind == nccllog.EventNetwork || e.Kind == nccllog.EventForeignPeer {
				f := c.unknown(NetworkError, m.proc.label()+" reports network errors before all edges were up")
				f.quotes = append(f.quotes, quote(m.proc.log, e.Fact))
				return f, true
			}
		}
	}
	return finding{}, false
}

func (c *courtroom) unknown(cause Cause, summary string) finding {
	return finding{outcome: Unknown, transport: TransportUnknown, cause: cause, summary: summary}
}

// silence judges logs without communicators and without failures.
func (c *courtroom) silence() finding {
	var lines int64
	for _, log := range c.Logs {
		lines += log.Info
		if log.Banner.Seen() || log.Warn > 0 {
			lines = max(lines, 1)
		}
	}
	switch {
	case lines == 0 && c.GPUs == 0:
		f := c.unknown(NoGPU, "no GPU here: the ranks talked over gloo, nothing to prove")
		f.transport = TransportNone
		return f
	case lines == 0:
		return c.unknown(NoNCCLOutput, "the logs hold no line of NCCL")
	case !slices.ContainsFunc(c.procs, func(p *process) bool { return p.Info > 0 }):
		f := c.unknown(DebugTooLow, "NCCL printed no more than its version or warnings")
		for _, log := range c.Logs {
			if log.Banner.Seen() {
				f.quotes = append(f.quotes, quote(log, log.Banner.Fact))
			}
		}
		return f
	case slices.ContainsFunc(c.procs, (*process).began):
		return c.unknown(EdgesMissing, "NCCL began to start, and no communicator was made yet")
	}
	return c.unknown(SubsysFiltered, "NCCL's lines about initialisation are not in the logs")
}

// began tells whether the process printed lines of NCCL's initialisation.
func (p *process) began() bool {
	return p.Bootstrap.Seen() || p.Version.Seen() || len(p.Networks) > 0 || len(p.Steps) > 0
}

// warnings lists what people should know beside the verdict.
func (c *courtroom) warnings(f finding) []string {
	var all []string
	for _, p := range c.procs {
		for _, e := range p.Events {
			if e.Kind == nccllog.EventNetwork && f.cause != NetworkError {
				all = append(all, fmt.Sprintf("%s reports a network error, %d times: %s", p.label(), e.Count, e.Text))
			}
		}
	}
	if c.Nodes > 1 && f.cause == SingleNode {
		all = append(all, fmt.Sprintf("the job had %d nodes, but NCCL saw one: processes of one machine count as one node", c.Nodes))
	}
	return all[:min(len(all), maxQuotes)]
}

// edgeCounts counts each edge once.
func (c *courtroom) edgeCounts() []EdgeCount {
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
	for _, g := range c.comms {
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

func (r reason) quotes(p *process) []Quote {
	quotes := make([]Quote, 0, len(r.facts))
	for _, f := range r.facts {
		quotes = append(quotes, quote(p.log, f))
	}
	return quotes
}

// netQuotes are the lines that show which network a process uses: the provider,
// the choice, and one edge.
func netQuotes(p *process, t Transport) []Quote {
	var quotes []Quote
	if n := len(p.Providers); n > 0 && t != TransportSocket && t != TransportIB {
		quotes = append(quotes, quote(p.log, p.Providers[n-1].Fact))
	}
	for _, n := range p.Networks {
		if p.transport(n.Name) == t {
			quotes = append(quotes, quote(p.log, n.Fact))
		}
	}
	for _, e := range p.netEdges() {
		if p.transport(e.Net) == t && e.Text != "" {
			return append(quotes, quote(p.log, e.Fact))
		}
	}
	return quotes
}

// tidy takes the first quotes, each once, in the order of the files.
func tidy(quotes []Quote) []Quote {
	kept := []Quote{}
	for _, q := range quotes {
		if q.Line > 0 && q.Text != "" && !slices.Contains(kept, q) && len(kept) < maxQuotes {
			kept = append(kept, q)
		}
	}
	slices.SortStableFunc(kept, func(a, b Quote) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return kept
}

func not[T any](is func(T) bool) func(T) bool {
	return func(v T) bool { return !is(v) }
}

// list joins names, the first few of many.
func list(names []string) string {
	const few = 3
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}
