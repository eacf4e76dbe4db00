package fabric

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// maxKinds is the number of kinds of communicators that get a step each.
const maxKinds = 4

// steps collects a reasoning.
type steps []Step

func (s *steps) add(kind StepKind, text string, quotes ...Quote) {
	*s = append(*s, Step{Kind: kind, Text: text, Evidence: tidy(quotes)})
}

// reasoning tells how the finding came about, in about a dozen steps however
// many ranks there are.
func (j *job) reasoning(f finding, attempts int) []Step {
	var s steps
	j.givenSteps(&s)
	j.readSteps(&s)
	if attempts > 0 {
		s.add(Inferred, fmt.Sprintf("%s came earlier and had ended before the last one began: the last one counts", count(attempts, "attempt")))
	}
	j.networkSteps(&s)
	j.commSteps(&s)
	j.ownerSteps(&s)
	if f.suspect != nil {
		for _, r := range f.why {
			r.step(&s, f.suspect)
		}
	}
	j.counterSteps(&s)
	s.add(Concluded, f.rule)
	s.add(Concluded, fmt.Sprintf("%s: %s", f.outcome, f.summary), f.quotes...)
	return s
}

// count is a number and what is counted.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

func (j *job) givenSteps(s *steps) {
	if j.Expectation.Demands() {
		s.add(Given, "expected between nodes: "+j.Expectation.words())
	} else {
		s.add(Given, "no network is demanded")
	}
	var facts []string
	if j.Ranks > 0 {
		facts = append(facts, count(j.Ranks, "rank"))
	}
	if j.Nodes > 0 {
		facts = append(facts, count(j.Nodes, "node"))
	}
	if j.GPUs >= 0 {
		facts = append(facts, count(j.GPUs, "GPU"))
	}
	if len(facts) > 0 {
		s.add(Given, "the cluster says: "+strings.Join(facts, ", "))
	}
}

func (j *job) readSteps(s *steps) {
	var lines, nccl int64
	lossy := map[Cause]int{}
	for _, log := range j.Logs {
		lines += log.Lines
		nccl += log.Info + log.Warn
		if cause := (&process{log: log}).loss(); cause != "" {
			lossy[cause]++
		}
	}
	s.add(Seen, fmt.Sprintf("%s with %s, %d of them NCCL's, from %s",
		count(len(j.Logs), "file"), count(int(lines), "line"), nccl, processes(len(j.procs))))
	for _, cause := range slices.Sorted(maps.Keys(lossy)) {
		s.add(Seen, fmt.Sprintf("%s: %s", count(lossy[cause], "file"), cause.Info().Why))
	}
	if j.ranks.Expected > 0 {
		s.add(Seen, fmt.Sprintf("%d of %s have lines", j.ranks.Seen, count(j.ranks.Expected, "rank")))
	}
}

// networkSteps tell which networks the processes name, and over which provider
// Libfabric runs.
func (j *job) networkSteps(s *steps) {
	type choice struct {
		n     int
		quote Quote
	}
	named, provided := map[string]choice{}, map[string]choice{}
	for _, p := range j.procs {
		for _, v := range p.Networks {
			named[v.Name] = choice{named[v.Name].n + 1, cmp.Or(named[v.Name].quote, quote(p.log, v.Fact))}
		}
		for _, v := range p.Providers {
			provided[v.Name] = choice{provided[v.Name].n + 1, cmp.Or(provided[v.Name].quote, quote(p.log, v.Fact))}
		}
	}
	say := func(all map[string]choice, form string) {
		var parts []string
		var quotes []Quote
		for _, name := range slices.Sorted(maps.Keys(all)) {
			parts = append(parts, fmt.Sprintf("%s in %d", name, all[name].n))
			quotes = append(quotes, all[name].quote)
		}
		if len(parts) > 0 {
			s.add(Seen, fmt.Sprintf(form, list(parts)), quotes...)
		}
	}
	say(named, "the processes say that they use: %s; that is a choice, not yet traffic")
	say(provided, "the OFI plugin says that libfabric's provider is: %s")
	if len(provided) > 0 {
		s.add(Inferred, "an edge over Libfabric uses the provider that its own process named")
	}
}

// commSteps tell of the communicators, those alike in one step.
func (j *job) commSteps(s *steps) {
	type kind struct {
		ranks, nodes int
		outcome      Outcome
		transport    Transport
		cause        Cause
		over         bool
	}
	first, times := map[kind]*communicator{}, map[kind]int{}
	var order []kind
	for i, g := range j.comms {
		f := j.found[i]
		k := kind{g.ranks, g.nodes, f.outcome, f.transport, f.cause, g.over}
		if first[k] == nil {
			first[k] = g
			order = append(order, k)
		}
		times[k]++
	}
	slices.SortStableFunc(order, func(a, b kind) int {
		return cmp.Or(
			compareBools(a.cause == SingleNode, b.cause == SingleNode),
			cmp.Compare(b.outcome.severity(), a.outcome.severity()), cmp.Compare(b.ranks, a.ranks),
		)
	})
	for _, k := range order[:min(len(order), maxKinds)] {
		text, quotes := first[k].describe()
		if times[k] > 1 {
			text = fmt.Sprintf("%s; %d more look like it", text, times[k]-1)
		}
		if k.over {
			text += "; it was replaced by a later one"
		}
		s.add(Seen, text, quotes...)
	}
	if rest := len(order) - maxKinds; rest > 0 {
		s.add(Seen, fmt.Sprintf("%s of communicators more", count(rest, "kind")))
	}
}

// compareBools puts false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (g *communicator) describe() (string, []Quote) {
	text := fmt.Sprintf("communicator %s: %d of %s", g.id, len(g.members), count(g.ranks, "rank"))
	if g.nodes > 0 {
		text += " on " + count(g.nodes, "node")
	}
	net, within, half := g.tally()
	var parts []string
	for _, t := range slices.Sorted(maps.Keys(net)) {
		parts = append(parts, fmt.Sprintf("%s over %s", count(net[t], "edge"), t.words()))
	}
	if within > 0 {
		parts = append(parts, fmt.Sprintf("%d over P2P or shared memory", within))
	}
	if half > 0 {
		parts = append(parts, fmt.Sprintf("%d seen from one end only", half))
	}
	if len(parts) == 0 {
		parts = []string{"no edges"}
	}
	var quotes []Quote
	for _, m := range g.members {
		if at := slices.IndexFunc(m.edges, func(e *nccllog.Edge) bool { return isNet(e) && e.Text != "" }); at >= 0 {
			return text + ", " + strings.Join(parts, ", "), []Quote{quote(m.proc.log, m.edges[at].Fact)}
		}
		if m.Sized.Seen() && len(quotes) == 0 {
			quotes = []Quote{quote(m.proc.log, m.Sized)}
		}
	}
	return text + ", " + strings.Join(parts, ", "), quotes
}

// tally counts the edges over each network, those within hosts, and those over
// a network of which one end is missing.
func (g *communicator) tally() (net map[Transport]int, within, half int) {
	net = map[Transport]int{}
	links := map[link]uint8{}
	for _, m := range g.members {
		for _, e := range m.edges {
			l := linkOf(e)
			switch {
			case !isNet(e):
				within++
				continue
			case links[l] == 0:
				net[m.proc.transport(e.Net)]++
			}
			if e.Direction == nccllog.Send {
				links[l] |= sent
			} else {
				links[l] |= received
			}
		}
	}
	for _, ends := range links {
		if ends != sent|received {
			half++
		}
	}
	return net, within, half
}

// ownerSteps own up to what is inferred about whose edges are whose.
func (j *job) ownerSteps(s *steps) {
	several, counted, adopted := 0, 0, 0
	for _, p := range j.procs {
		if len(p.Comms) > 1 {
			several++
		}
		if len(p.counted) > 0 {
			counted++
		}
		if p.adopted > 0 {
			adopted++
		}
	}
	if several > 0 {
		s.add(Inferred, fmt.Sprintf("%s made several communicators: channel lines do not name theirs, and were given to the one that their ranks, nodes, channels and place in the log fit",
			processes(several)))
	}
	if counted > 0 {
		s.add(Inferred, fmt.Sprintf("in %s some lines fit several communicators alike: where an edge was connected as often as these are many, each of them has it, as a communicator connects an edge once",
			processes(counted)))
	}
	if adopted > 0 {
		s.add(Inferred, fmt.Sprintf("in %s connections of point-to-point calls fit several communicators: they were given to the one that has no others",
			processes(adopted)))
	}
}

// step tells why a process uses what it uses.
func (r reason) step(s *steps, p *process) {
	if r.inferred == "" {
		s.add(Seen, fmt.Sprintf("%s: %s", p.label(), r.cause.Info().Why), r.quotes(p)...)
		return
	}
	s.add(Inferred, fmt.Sprintf("%s: %s, because %s", p.label(), r.cause.Info().Why, r.inferred), r.quotes(p)...)
}

func (j *job) counterSteps(s *steps) {
	read, grown := 0, 0
	for _, m := range j.Machines {
		if len(m.Counters) == 0 || m.problem() != "" {
			continue
		}
		read++
		if _, moved := m.sent(); moved > 0 {
			grown++
		}
	}
	if read > 0 {
		s.add(Given, fmt.Sprintf("the network cards of %s were read before and after: those of %d sent or received something", count(read, "machine"), grown))
	}
}
