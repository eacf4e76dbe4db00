package fabric

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// communicator judges one communicator.
func (j *job) communicator(g *communicator) finding {
	if !g.spansNodes() {
		return j.oneNode(g)
	}
	if g.networks().differ() {
		return j.mixed(g)
	}
	seen := g.edgeTransports()
	for _, t := range seen.known() {
		if !j.Expectation.Accepts(t) {
			return j.wrong(g.processes(), t)
		}
	}
	if f, ok := j.incomplete(g); ok {
		return f
	}
	if g.nodes == 1 {
		return j.oneNode(g)
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

func (j *job) oneNode(g *communicator) finding {
	if g.nodes == 0 {
		f, _ := j.incomplete(g)
		return f
	}
	f := j.unknown(SingleNode, fmt.Sprintf("all %d ranks were on one node, so the network was not used", g.ranks))
	f.transport = TransportNone
	for _, m := range g.members {
		f.quotes = append(f.quotes, quote(m.proc.log, m.Sized))
	}
	return f
}

// oneRank is the finding on a job that had nobody to talk to.
func (j *job) oneRank() finding {
	f := j.unknown(SingleNode, "the job had one rank, so there was no network to use")
	f.transport = TransportNone
	return f
}

// mixed names the ranks that use what fewest of them use.
func (j *job) mixed(g *communicator) finding {
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
		parts = append(parts, fmt.Sprintf("%s over %s", list(names), t.words()))
		f.quotes = append(f.quotes, netQuotes(users[t][0], t)...)
	}
	last := users[kinds[len(kinds)-1]][0]
	for _, r := range explain(last, j.Expectation) {
		f.quotes = append(f.quotes, r.quotes(last)...)
	}
	f.summary = "ranks of one communicator use different networks: " + strings.Join(parts, ", ")
	return f
}

// wrong: the ranks' edges are proven to use another network than expected.
func (j *job) wrong(procs []*process, t Transport) finding {
	var guilty []*process
	for _, p := range procs {
		if slices.ContainsFunc(p.netEdges(), func(e *nccllog.Edge) bool { return p.transport(e.Net) == t }) {
			guilty = append(guilty, p)
		}
	}
	f := finding{outcome: Fail, transport: t, cause: OtherNetwork}
	first := guilty[0]
	if why := explain(first, j.Expectation); len(why) > 0 {
		f.cause, f.remedy = why[0].cause, remedy(why)
		for _, r := range why {
			f.quotes = append(f.quotes, r.quotes(first)...)
		}
	}
	f.quotes = append(f.quotes, netQuotes(first, t)...)
	f.summary = fmt.Sprintf("%d of %d ranks crossed nodes over %s where %s was expected: %s",
		len(guilty), max(len(procs), j.coverage().Expected), t.words(), j.Expectation.words(), f.cause.Info().Why)
	return f
}

// remedy adds what would come next: unsetting NCCL_NET alone does not help
// where there is no plugin either.
func remedy(why []reason) string {
	first := why[0].cause.Info()
	if first.Cause != NetForcedSocket || len(why) < 2 || why[1].cause == NoIBDevice {
		return first.Remedy
	}
	next := why[1].cause.Info()
	return fmt.Sprintf("%s; then, as %s, %s", first.Remedy, next.Why, next.Remedy)
}

// incomplete says what is missing for a proof.
func (j *job) incomplete(g *communicator) (finding, bool) {
	gap := g.gap()
	for _, m := range g.members {
		if cause := m.proc.loss(); cause != "" {
			return j.lossy(m.proc, cause), true
		}
	}
	if len(g.members) < g.ranks {
		return j.unknown(RanksMissing, fmt.Sprintf("%d of %d ranks are in the logs", len(g.members), g.ranks)), true
	}
	if g.contradictions > 0 {
		return j.unknown(EdgesMissing, "communicators without an id cannot be told apart"), true
	}
	if gap != "" {
		if f, ok := j.networkError(g); ok {
			return f, true
		}
		return j.unknown(EdgesMissing, "not all edges are in the logs: "+gap), true
	}
	for _, m := range g.members {
		for _, e := range m.edges {
			if e.Transport == nccllog.NET && m.proc.transport(e.Net) == TransportUnknown {
				f := j.unknown(ProviderMissing, m.proc.label()+" uses Libfabric, and no single line tells over which provider")
				f.quotes = append(f.quotes, quote(m.proc.log, e.Fact))
				return f, true
			}
		}
	}
	return finding{}, false
}

func (j *job) lossy(p *process, cause Cause) finding {
	f := j.unknown(cause, fmt.Sprintf("%s: %s, so its evidence is incomplete", p.label(), cause.Info().Why))
	for _, t := range []nccllog.Tally{p.log.Repeated, p.log.Cut, p.log.Unparsed} {
		if t.Count > 0 {
			f.quotes = append(f.quotes, quote(p.log, t.First))
		}
	}
	return f
}

func (j *job) networkError(g *communicator) (finding, bool) {
	for _, m := range g.members {
		for _, e := range m.proc.Events {
			if e.Kind == nccllog.EventNetwork || e.Kind == nccllog.EventForeignPeer {
				f := j.unknown(NetworkError, m.proc.label()+" reports network errors before all edges were up")
				f.quotes = append(f.quotes, quote(m.proc.log, e.Fact))
				return f, true
			}
		}
	}
	return finding{}, false
}

// list joins names, the first few of many.
func list(names []string) string {
	const few = 3
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}
