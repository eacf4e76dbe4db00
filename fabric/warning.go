package fabric

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// warnings lists what people should know beside the verdict, one of a kind.
func (j *job) warnings(f finding) []Warning {
	var all []Warning
	for _, w := range [...]func(finding) (Warning, bool){
		j.troubleWarning, j.nodesWarning, j.moreWarning, j.railsWarning, j.unevenWarning, j.idleWarning, j.gdrWarning, j.countersWarning,
	} {
		if w, ok := w(f); ok {
			w.Evidence = tidy(w.Evidence)
			all = append(all, w)
		}
	}
	return all
}

// troubleWarning tells of errors that the verdict does not speak of: a job whose
// network is proven may still fail, by the network too.
func (j *job) troubleWarning(f finding) (Warning, bool) {
	var w Warning
	seen := map[string]bool{}
	for _, e := range j.troubles() {
		if e.cause == f.cause || f.cause == MixedNetworks {
			continue
		}
		if seen[e.who] = true; w.Cause == "" {
			w = Warning{e.cause, fmt.Sprintf("%s reports, %d times: %s", e.who, e.count, e.cause.Info().Why), nil}
		}
		w.Evidence = append(w.Evidence, e.quote)
	}
	if len(seen) > 1 {
		w.Text += fmt.Sprintf("; %d more report errors", len(seen)-1)
	}
	return w, len(seen) > 0
}

func (j *job) nodesWarning(f finding) (Warning, bool) {
	if j.Nodes < 2 || f.cause != SingleNode {
		return Warning{}, false
	}
	return Warning{SingleNode, fmt.Sprintf("the job had %d nodes, but NCCL saw one: processes of one machine count as one node", j.Nodes), nil}, true
}

// moreWarning: the logs show more than the job is said to have.
func (j *job) moreWarning(f finding) (Warning, bool) {
	var parts []string
	for _, known := range [...]struct {
		said, seen int
		what       string
	}{{j.Ranks, j.ranksShown(), "rank"}, {j.Nodes, j.nodesSeen(), "node"}} {
		if known.said > 0 && known.seen > known.said && f.cause != SingleNode {
			parts = append(parts, fmt.Sprintf("the job is said to have %s, and the logs show %d", count(known.said, known.what), known.seen))
		}
	}
	return Warning{Text: strings.Join(parts, "; ")}, len(parts) > 0
}

// node is what the processes of one machine say of its network cards.
type node struct {
	name    string
	procs   []*process
	nics    int // as the OFI plugin found them, the most of any process
	fewest  int // the fewest of any process that says so
	groups  int // network devices of NCCL
	devices map[int]bool
	kind    instance
	first   Quote // that tells nics
}

// nodes sorts the processes that use EFA or InfiniBand by machine.
func (j *job) nodes() []*node {
	byName := map[string]*node{}
	var all []*node
	for _, p := range j.procs {
		if t := p.used(); t != TransportEFA && t != TransportIB {
			continue
		}
		name := p.machine()
		n := byName[name]
		if n == nil {
			n = &node{name: name, devices: map[int]bool{}}
			byName[name] = n
			all = append(all, n)
		}
		n.add(p)
	}
	for _, n := range all {
		n.kind = j.kind(n)
	}
	return all
}

// machine names the machine of the process.
func (p *process) machine() string {
	if p.log.Node != "" {
		return p.log.Node
	}
	return p.Host
}

func (n *node) add(p *process) {
	n.procs = append(n.procs, p)
	if last := len(p.Providers) - 1; last >= 0 && p.Providers[last].NICs > 0 {
		found := p.Providers[last].NICs
		if found > n.nics {
			n.nics, n.first = found, quote(p.log, p.Providers[last].Fact)
		}
		if n.fewest == 0 || found < n.fewest {
			n.fewest = found
		}
	}
	n.groups = max(n.groups, p.netDevices())
	for _, e := range p.net {
		n.devices[e.Device] = true
	}
}

// netDevices counts the network devices that NCCL has in this process; 0 where
// not known. The OFI plugin makes one of each group of cards, or of each card
// where it forms no groups.
func (p *process) netDevices() int {
	if p.NICGroups > 0 {
		return p.NICGroups
	}
	if n := len(p.Providers); n > 0 {
		if p.Protocol.Name == "SENDRECV" {
			return p.Providers[n-1].NICs
		}
		return 0
	}
	ib := 0
	for _, d := range p.Devices {
		if d.Net == "IB" {
			ib++
		}
	}
	return ib
}

// kind is what the machine has: as the cluster says, or as the plugin does.
func (j *job) kind(n *node) instance {
	var kind instance
	for _, p := range n.procs {
		if p.Instance.Seen() && kind.efa == 0 {
			kind = instanceOf(p.Instance.Name)
		}
	}
	for _, m := range j.Machines {
		if m.Name == n.name {
			if known := instanceOf(m.InstanceType); known.efa > 0 {
				kind = known
			}
			if m.NICs > 0 {
				kind.efa = m.NICs
			}
		}
	}
	return kind
}

// railsWarning: the OFI plugin found fewer cards than the machine has.
func (j *job) railsWarning(finding) (Warning, bool) {
	return some(j.nodes(), RailsMissing, func(n *node) string {
		if n.nics == 0 || n.nics >= n.kind.efa {
			return ""
		}
		return fmt.Sprintf("%d of %d network cards on %s", n.nics, n.kind.efa, n.name)
	})
}

// unevenWarning: ranks of one machine see different numbers of cards.
func (j *job) unevenWarning(finding) (Warning, bool) {
	return some(j.nodes(), RailsMissing, func(n *node) string {
		if n.fewest == n.nics {
			return ""
		}
		return fmt.Sprintf("ranks on %s found between %d and %d network cards", n.name, n.fewest, n.nics)
	})
}

// idleWarning: all channels together use some of the devices only.
func (j *job) idleWarning(f finding) (Warning, bool) {
	if f.outcome != Pass {
		return Warning{}, false // edges may be missing
	}
	return some(j.nodes(), RailsMissing, func(n *node) string {
		if len(n.devices) >= n.groups {
			return ""
		}
		return fmt.Sprintf("channels use %d of %d network devices on %s", len(n.devices), n.groups, n.name)
	})
}

// some makes one warning of what is said of several nodes.
func some(nodes []*node, cause Cause, what func(*node) string) (Warning, bool) {
	var texts []string
	w := Warning{Cause: cause}
	for _, n := range nodes {
		if text := what(n); text != "" {
			texts = append(texts, text)
			w.Evidence = append(w.Evidence, n.first)
		}
	}
	w.Text = list(texts)
	return w, len(texts) > 0
}

// gdrWarning: edges without GPUDirect RDMA where the machine has it, or others
// have it, or the other end has it.
func (j *job) gdrWarning(finding) (Warning, bool) {
	if w, ok := j.oneSided(); ok {
		return w, true
	}
	return some(j.nodes(), GDRMissing, func(n *node) string {
		edges, with := 0, 0
		for _, p := range n.procs {
			for _, e := range p.net {
				edges++
				if e.GDR {
					with++
				}
			}
			for _, f := range p.NoGDR[:min(len(p.NoGDR), 1)] {
				if n.first.Line == 0 || with < edges {
					n.first = quote(p.log, f)
				}
			}
		}
		if with == edges || with == 0 && !n.kind.gdr {
			return ""
		}
		return fmt.Sprintf("%d of %d edges on %s do not use GPUDirect RDMA", edges-with, edges, n.name)
	})
}

// oneSided finds edges of which one end alone uses GPUDirect RDMA.
func (j *job) oneSided() (Warning, bool) {
	w := Warning{Cause: GDRMissing}
	var without []*process
	known := map[*process]bool{}
	for _, g := range j.comms {
		sends := map[link]bool{}
		for _, m := range g.members {
			for _, e := range m.edges {
				if isNet(e) && e.Direction == nccllog.Send {
					sends[linkOf(e)] = e.GDR
				}
			}
		}
		for _, m := range g.members {
			for _, e := range m.edges {
				gdr, seen := sends[linkOf(e)]
				if !isNet(e) || e.Direction != nccllog.Receive || !seen || gdr == e.GDR {
					continue
				}
				odd := m.proc
				if e.GDR {
					odd = g.procs[e.From]
				}
				if !known[odd] {
					known[odd] = true
					without = append(without, odd)
					for _, f := range odd.NoGDR[:min(len(odd.NoGDR), 1)] {
						w.Evidence = append(w.Evidence, quote(odd.log, f))
					}
				}
			}
		}
	}
	slices.SortStableFunc(without, func(a, b *process) int { return cmp.Compare(a.rank(), b.rank()) })
	w.Text = fmt.Sprintf("GPUDirect RDMA is used at one end of edges only: not by %s", list(labels(without)))
	return w, len(without) > 0
}

// countersWarning names machines whose network cards could not be read.
func (j *job) countersWarning(finding) (Warning, bool) {
	var texts []string
	for _, m := range j.Machines {
		if problem := m.problem(); problem != "" {
			texts = append(texts, fmt.Sprintf("%s of %s", problem, m.Name))
		}
	}
	return Warning{Text: "network counters were not read: " + strings.Join(texts[:min(len(texts), 3)], "; ")}, len(texts) > 0
}
