package fabric

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	rule      string   // of this package, by which it was found
	suspect   *process // whose reasons are those of the finding
}

// The rules.
const (
	ruleProven   = "PASS: every edge over the network was seen from both ends, on every channel of every rank, and all use what was expected"
	ruleWrong    = "FAIL: one edge that is proven to use another network than expected is enough"
	ruleMixed    = "FAIL: ranks of one communicator that were given different networks cannot talk to each other"
	ruleNoStart  = "FAIL: NCCL gave up before there was a communicator"
	ruleMissing  = "UNKNOWN: what is missing could have been another network"
	ruleNothing  = "UNKNOWN: no edge between nodes, so nothing is proven of the network"
	ruleCounters = "UNKNOWN: the log says one thing and the network cards another"
)

// communicator judges one communicator.
func (j *job) communicator(g *communicator) finding {
	if f, ok := j.mismatch(g); ok {
		return f
	}
	if !g.spansNodes() {
		return j.oneNode(g)
	}
	if g.crosses() && g.networks().differ() {
		return j.mixed(g)
	}
	seen := g.edgeTransports()
	for _, t := range seen.known() {
		if !j.Expectation.Accepts(t) {
			return j.wrong(g.users(t), t, len(g.members))
		}
	}
	if f, ok := j.incomplete(g); ok {
		return f
	}
	if len(seen) == 0 {
		return j.nvlink(g)
	}
	if g.nodes == 1 || g.nodes == 0 && g.oneHost() {
		return j.oneNode(g)
	}
	t := seen[0]
	f := finding{
		outcome: Pass, transport: t, rule: ruleProven,
		summary: fmt.Sprintf("all %d ranks crossed nodes over %s", g.ranks, t.words()),
	}
	for _, m := range g.members[:min(len(g.members), maxQuotes)] {
		f.quotes = append(f.quotes, netQuotes(m.proc, t)...)
	}
	return f
}

// oneHost tells whether all ranks are known to be on one host; NCCL before 2.20
// does not count nodes.
func (g *communicator) oneHost() bool {
	first := g.members[0].proc
	for _, m := range g.members {
		if m.proc.place == "" || m.proc.place != first.place || m.proc.log.Node != first.log.Node {
			return false
		}
	}
	return true
}

// users are the processes with an edge of the communicator over t.
func (g *communicator) users(t Transport) []*process {
	var procs []*process
	for _, m := range g.members {
		if slices.Contains(m.transports(), t) {
			procs = append(procs, m.proc)
		}
	}
	return procs
}

func (j *job) oneNode(g *communicator) finding {
	if g.nodes == 0 && !g.any(isNet) {
		if f, ok := j.incomplete(g); ok {
			return f
		}
	}
	f := j.unknown(SingleNode, fmt.Sprintf("all %d ranks were on one node, so the network was not used", g.ranks))
	f.transport, f.rule = TransportNone, ruleNothing
	for _, m := range g.members[:min(len(g.members), maxQuotes)] {
		f.quotes = append(f.quotes, quote(m.proc.log, m.Sized))
	}
	return f
}

// oneRank is the finding on a job that had nobody to talk to.
func (j *job) oneRank() finding {
	f := j.unknown(SingleNode, "the job had one rank, so there was no network to use")
	f.transport, f.rule = TransportNone, ruleNothing
	return f
}

// nvlink judges a communicator whose hosts are joined by NVLink alone. That is
// no fallback, and no proof of a network either.
func (j *job) nvlink(g *communicator) finding {
	f := finding{transport: TransportMNNVL}
	for _, m := range g.members[:min(len(g.members), 2)] {
		for _, e := range m.edges {
			if isMNNVL(e) && e.Text != "" {
				f.quotes = append(f.quotes, quote(m.proc.log, e.Fact))
				break
			}
		}
	}
	if j.Expectation.Accepts(TransportMNNVL) {
		f.outcome, f.rule = Pass, ruleProven
		f.summary = fmt.Sprintf("all %d ranks reached the other machines over NVLink, and none used a network", g.ranks)
		return f
	}
	f.outcome, f.cause, f.rule = Unknown, MNNVLOnly, ruleNothing
	f.summary = fmt.Sprintf("all %d ranks reached the other machines over NVLink, so nothing is known of %s", g.ranks, j.Expectation.words())
	return f
}

// choice is the network of the member's edges, or where it has none the one it
// says that it uses.
func (m member) choice() Transport {
	if t := m.transports().one(TransportNone); t != TransportNone {
		return t
	}
	if isNetwork(m.Network.Name) {
		return m.proc.transport(m.Network.Name)
	}
	return TransportNone
}

// mixed names the ranks that use what fewest of them use.
func (j *job) mixed(g *communicator) finding {
	users := map[Transport][]*process{}
	for _, m := range g.members {
		users[m.choice()] = append(users[m.choice()], m.proc)
	}
	silent := len(users[TransportNone])
	delete(users, TransportNone)
	kinds := slices.SortedFunc(maps.Keys(users), func(a, b Transport) int {
		return cmp.Or(cmp.Compare(len(users[b]), len(users[a])), cmp.Compare(a, b))
	})
	f := finding{outcome: Fail, transport: TransportMixed, cause: MixedNetworks, rule: ruleMixed}
	var parts []string
	for _, t := range kinds {
		parts = append(parts, fmt.Sprintf("%s over %s", list(labels(users[t])), t.words()))
		f.quotes = append(f.quotes, netQuotes(users[t][0], t)...)
	}
	if silent > 0 {
		parts = append(parts, fmt.Sprintf("%d have not said", silent))
	}
	f.summary = "ranks of one communicator use different networks: " + strings.Join(parts, ", ")
	f.suspect = users[j.odd(kinds)][0]
	if why := explain(f.suspect, j.Expectation); len(why) > 0 {
		for _, r := range why {
			f.quotes = append(r.quotes(f.suspect), f.quotes...)
		}
		f.summary += fmt.Sprintf("; %s: %s", f.suspect.label(), why[0].why())
		f.remedy = fmt.Sprintf("for %s (%s): %s; then see that all ranks have the same image, environment and devices", f.suspect.label(), why[0].cause, remedy(why))
	}
	return f
}

// odd is the transport of those to look at: what fewest use of what was not
// expected.
func (j *job) odd(kinds []Transport) Transport {
	for _, t := range slices.Backward(kinds) {
		if t != TransportUnknown && !(j.Expectation.Demands() && j.Expectation.Accepts(t)) {
			return t
		}
	}
	return kinds[len(kinds)-1]
}

func labels(procs []*process) []string {
	names := make([]string, 0, len(procs))
	for _, p := range procs {
		names = append(names, p.label())
	}
	return names
}

// mismatch takes what NCCL itself found out about ranks that differ, where it
// gave up for that.
func (j *job) mismatch(g *communicator) (finding, bool) {
	for _, m := range g.members {
		for _, e := range m.proc.Events {
			if e.Kind != nccllog.EventMismatch || m.Completed.Seen() || g.proven() {
				continue
			}
			f := finding{outcome: Fail, transport: TransportUnknown, cause: MixedNetworks, rule: ruleMixed}
			if strings.Contains(strings.ToLower(e.Text), "version") {
				f.cause, f.rule = VersionMismatch, ruleNoStart
			}
			f.summary = m.proc.label() + " found that ranks differ: " + f.cause.Info().Why
			f.quotes = []Quote{quote(m.proc.log, e.Fact)}
			return f, true
		}
	}
	return finding{}, false
}

// proven tells whether nothing is missing for a proof.
func (g *communicator) proven() bool {
	return len(g.members) == g.ranks && g.contradictions == 0 && g.gap() == ""
}

// wrong: edges of the processes are proven to use another network than expected.
func (j *job) wrong(guilty []*process, t Transport, of int) finding {
	f := finding{outcome: Fail, transport: t, cause: OtherNetwork, rule: ruleWrong}
	first := guilty[0]
	because := f.cause.Info().Why
	if why := explain(first, j.Expectation); len(why) > 0 {
		f.cause, f.remedy, because = why[0].cause, remedy(why), why[0].why()
		for _, r := range why {
			f.quotes = append(f.quotes, r.quotes(first)...)
		}
	}
	f.quotes = append(f.quotes, netQuotes(first, t)...)
	of = max(of, len(guilty), j.ranks.Expected)
	who := ""
	if len(guilty) < of {
		who = " (" + list(labels(guilty)) + ")"
	}
	f.summary = fmt.Sprintf("%d of %d ranks%s crossed nodes over %s where %s was expected: %s",
		len(guilty), of, who, t.words(), j.Expectation.words(), because)
	f.suspect = first
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
	for _, m := range g.members {
		if cause := m.proc.loss(); cause != "" {
			return j.lossy(m.proc, cause), true
		}
	}
	if len(g.members) < g.ranks {
		return j.unknown(RanksMissing, fmt.Sprintf("%d of %d ranks are in the logs: %s of communicator %s missing",
			len(g.members), g.ranks, g.missing(), g.id)), true
	}
	if g.contradictions > 0 {
		return j.unknown(EdgesMissing, "communicators without an id cannot be told apart"), true
	}
	if gap := g.gap(); gap != "" {
		if f, ok := j.troubled(g); ok {
			return f, true
		}
		return j.unknown(EdgesMissing, fmt.Sprintf("not all edges of communicator %s (%d ranks) are in the logs: %s", g.id, g.ranks, gap)), true
	}
	for _, m := range g.members {
		if slices.Contains(m.transports(), TransportUnknown) {
			f := j.unknown(ProviderMissing, m.proc.label()+" uses Libfabric, and no single line tells over which provider")
			f.quotes = netQuotes(m.proc, TransportUnknown)
			return f, true
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

// troubled tells what went wrong before all edges were up: errors of the
// network first, then a rank that waited in vain.
func (j *job) troubled(g *communicator) (finding, bool) {
	var late finding
	for _, e := range j.troubles() {
		if e.proc != nil && !slices.ContainsFunc(e.proc.Comms, func(c *nccllog.Comm) bool { return e.proc.groups[c] == g }) {
			continue
		}
		f := j.unknown(e.cause, fmt.Sprintf("%s reports before all edges of communicator %s were up: %s", e.who, g.id, e.cause.Info().Why))
		f.quotes = []Quote{e.quote}
		if e.cause != Timeout {
			return f, true
		}
		if late.cause == "" {
			late = f
		}
	}
	return late, late.cause != ""
}

func (j *job) unknown(cause Cause, summary string) finding {
	return finding{outcome: Unknown, transport: TransportUnknown, cause: cause, summary: summary, rule: ruleMissing}
}

// trouble is an error that a process, or a program around it, reports.
type trouble struct {
	who   string
	proc  *process // nil where the file tells no process
	cause Cause
	count int64
	quote Quote
}

// troubles lists what the processes report, and what the programs around NCCL
// do, whose lines name no process of NCCL's.
func (j *job) troubles() []trouble {
	if j.trouble != nil {
		return j.trouble
	}
	all := []trouble{}
	for _, p := range j.procs {
		for _, e := range p.Events {
			if cause := eventCause(e); cause != "" {
				all = append(all, trouble{p.label(), p, cause, e.Count, quote(p.log, e.Fact)})
			}
		}
	}
	for _, log := range j.Logs {
		for _, e := range log.Errors {
			if cause := eventCause(e); cause != "" {
				all = append(all, trouble{log.Source, nil, cause, e.Count, quote(log, e.Fact)})
			}
		}
	}
	j.trouble = all
	return all
}

// eventCause: an unreachable peer is what a security group that drops EFA's
// packets looks like.
func eventCause(e nccllog.Event) Cause {
	switch e.Kind {
	case nccllog.EventNetwork, nccllog.EventForeignPeer:
		if strings.Contains(e.Text, "security group") || strings.Contains(e.Text, "Unresponsive receiver") {
			return SecurityGroup
		}
		return NetworkError
	case nccllog.EventTimeout:
		return Timeout
	case nccllog.EventTorch:
		if strings.Contains(e.Text, "there was a network error") {
			return NetworkError
		}
	}
	return ""
}

// list joins names, the first few of many.
func list(names []string) string {
	const few = 3
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}
