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
	why       []reason
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
	if g.blended() {
		return j.unknown(EdgesMissing, fmt.Sprintf("two processes have the same rank of %s (%d ranks), and this NCCL prints no id: several runs cannot be told apart", g.id, g.ranks))
	}
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
	for _, m := range g.claims() {
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
	for _, m := range g.claims() {
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
	odd := j.odd(kinds)
	f.suspect = users[odd][0]
	if why := f.suspect.explain(odd, j.Expectation); len(why) > 0 {
		f.why = why
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
	return len(g.members) == g.ranks && len(g.rivals) == 0 && g.gap() == ""
}

// wrong: edges of the processes are proven to use another network than expected.
func (j *job) wrong(guilty []*process, t Transport, of int) finding {
	f := finding{outcome: Fail, transport: t, cause: OtherNetwork, rule: ruleWrong}
	first := guilty[0]
	because := f.cause.Info().Why
	if why := first.explain(t, j.Expectation); len(why) > 0 {
		f.why = why
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
	if f, ok := j.lossy(g); ok {
		return f, true
	}
	if len(g.members) < g.ranks {
		return j.unknown(RanksMissing, fmt.Sprintf("%d of %d ranks are in the logs: %s of communicator %s missing",
			len(g.members), g.ranks, g.missing(), g.id)), true
	}
	if len(g.rivals) > 0 {
		return j.unknown(EdgesMissing, fmt.Sprintf("two processes have the same rank of communicator %s: %s and %s",
			g.id, g.procs[g.rivals[0].Rank].label(), g.rivals[0].proc.label())), true
	}
	if gap := g.gap(); gap != "" {
		if f, ok := j.troubled(g); ok {
			return f, true
		}
		for _, m := range g.members {
			if f, ok := j.inParts(m.proc); ok {
				return f, true
			}
		}
		return j.gapFound(g, gap), true
	}
	for _, m := range g.members {
		if slices.Contains(m.transports(), TransportUnknown) {
			f := j.unknown(ProviderMissing, m.proc.label()+" uses Libfabric, and no single line tells over which provider")
			f.quotes = netQuotes(m.proc, TransportUnknown)
			return f, true
		}
	}
	if m, ok := g.headLost(); ok {
		return j.unknown(ProviderMissing, fmt.Sprintf("%s uses Libfabric, and what it said as NCCL began is lost: others of communicator %s began anew for it", m.proc.label(), g.id)), true
	}
	return finding{}, false
}

// gapFound says what is missing of the edges. A communicator without any looks
// the same whether it was never used or all its lines are lost.
func (j *job) gapFound(g *communicator, gap string) finding {
	if g.any(func(*nccllog.Edge) bool { return true }) {
		return j.unknown(EdgesMissing, fmt.Sprintf("not all edges of communicator %s (%d ranks) are in the logs: %s", g.id, g.ranks, gap))
	}
	f := j.unknown(EdgesMissing, fmt.Sprintf("communicator %s (%d ranks) was made and shows no edge: it was never used or its lines are lost, and the logs cannot tell which", g.id, g.ranks))
	f.remedy = "keep the whole output of all ranks; if the program does not use that communicator, do not create it eagerly (PyTorch: device_id of init_process_group), or run one collective on it, such as a barrier"
	for _, m := range g.members[:min(len(g.members), 2)] {
		f.quotes = append(f.quotes, quote(m.proc.log, m.Started), quote(m.proc.log, m.Sized))
	}
	return f
}

// inParts tells that the log of a rank is in several files of which none has all.
func (j *job) inParts(p *process) (finding, bool) {
	for _, v := range p.views {
		if v.Process == p.Process {
			continue
		}
		if f, ok := j.moreEdges(p, v); ok {
			return f, true
		}
	}
	return finding{}, false
}

// lossy finds a file of a member's that has lost lines. It names the process
// whose line shows that, where the line tells, otherwise the file.
func (j *job) lossy(g *communicator) (finding, bool) {
	for _, m := range g.members {
		cause := m.proc.loss()
		if cause == "" {
			continue
		}
		log := m.proc.log
		who := log.Source
		for _, o := range g.members {
			if t := log.Unparsed; cause == EdgesUnreadable && o.proc.log.Log == log.Log && t.PID == o.proc.PID && t.Host == o.proc.Host {
				who = o.proc.label()
			}
		}
		f := j.unknown(cause, fmt.Sprintf("%s: %s, so the evidence is incomplete", who, cause.Info().Why))
		for _, t := range []nccllog.Tally{log.Repeated, log.Cut, log.Unparsed} {
			if t.Count > 0 {
				f.quotes = append(f.quotes, quote(log, t.First))
			}
		}
		return f, true
	}
	return finding{}, false
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
