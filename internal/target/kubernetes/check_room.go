package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// tally counts the nodes of one zone, or of all, by whether a worker fits.
type tally struct {
	zone  string
	now   int    // nodes with room now
	busy  []node // that would have room, were it not for pods that end some day
	small []node // that have none, even empty
}

func (t tally) later() int { return t.now + len(t.busy) }

// tallies counts the nodes that workers may go to: those of each zone by
// themselves where all workers must be in one, the best first.
func (v view) tallies() []tally {
	var all []tally
	for _, it := range v.placeable() {
		zone := ""
		if v.need.OneZone {
			zone = it.Labels[corev1.LabelTopologyZone]
		}
		i := slices.IndexFunc(all, func(t tally) bool { return t.zone == zone })
		if i < 0 {
			i = len(all)
			all = append(all, tally{zone: zone})
		}
		t, use := &all[i], v.Use.Value[it.Name]
		switch {
		case len(Shortages(v.ask, without(it.Status.Allocatable, use.All))) == 0:
			t.now++
		case len(Shortages(v.ask, without(it.Status.Allocatable, use.Lasting))) == 0:
			t.busy = append(t.busy, it)
		default:
			t.small = append(t.small, it)
		}
	}
	enough := func(n int) int { return min(n, v.need.Nodes) }
	slices.SortStableFunc(all, func(a, b tally) int {
		return cmp.Or(enough(b.now)-enough(a.now), enough(b.later())-enough(a.later()), cmp.Compare(a.zone, b.zone))
	})
	return all
}

// room judges how many workers find room now, and how many once what runs there
// has ended.
func (v view) room() []Finding {
	const check = "room"
	all := v.tallies()
	if v.Nodes.Err != nil || len(all) == 0 {
		return nil // said of the nodes
	}
	if v.Use.Err != nil {
		return unseen(check, v.Use.Err, "workers stay Pending while others hold the nodes", "ask an administrator for the right to list pods in all namespaces: kubectl auth can-i list pods -A")
	}
	best, in := all[0], ""
	if len(all) > 1 {
		in = " in zone " + best.zone
	}
	if best.now >= v.need.Nodes {
		return ok(check, "for %s%s now, %d wanted", counted(best.now, "worker"), in, v.need.Nodes)
	}
	if len(best.busy)+len(best.small) == 0 {
		return nil // there are too few nodes, which is said of nodes and zones
	}
	f := Finding{
		Level: Warning, Check: check, What: fmt.Sprintf("for %s%s now, %d once others end, %d wanted", counted(best.now, "worker"), in, best.later(), v.need.Nodes),
		Consequence: "workers stay Pending until there is room", Remedy: waitOr(best, v.need.Nodes),
	}
	var holders []string
	for _, it := range best.busy {
		f.Where = append(f.Where, it.Name)
		holders = append(holders, v.Use.Value[it.Name].Holders...)
	}
	if len(holders) > 0 {
		f.What += "; GPUs are held by " + few(holders, manyValues)
	}
	if best.later() >= v.need.Nodes {
		return []Finding{f}
	}
	if small := v.tooSmall(best.small); len(small) > 0 {
		return small
	}
	return []Finding{v.fewer(best.later(), f)}
}

// waitOr is the remedy where there is room for too few workers.
func waitOr(t tally, wanted int) string {
	switch {
	case t.later() == 0:
		return "make good what the nodes lack, or take others"
	case t.later() < wanted:
		return "make good what other nodes lack"
	case t.now == 0:
		return "wait until they end"
	}
	return fmt.Sprintf("wait until they end, or ask for fewer with --nodes %d", t.now)
}

// tooSmall says of nodes what they lack for a worker, even empty. GPUs and EFA
// are left out where rules of their own say why they are missing.
func (v view) tooSmall(nodes []node) []Finding {
	return fold(nodes, func(it node) (Finding, bool) {
		var short []string
		for _, s := range Shortages(v.ask, without(it.Status.Allocatable, v.Use.Value[it.Name].Lasting)) {
			if s.Resource != gpuResource && s.Resource != efaResource && s.Resource != hugePages {
				short = append(short, s.String())
			}
		}
		return Finding{
			Level: Problem, Check: "room", What: "a worker asks for more than the node has: " + strings.Join(short, ", "),
			Consequence: noWorker, Remedy: "lower kubernetes.workerCPU and kubernetes.workerMemory in trainyard.yaml",
		}, len(short) > 0
	})
}

// headRoom judges whether a node has room for the head.
func (v view) headRoom() []Finding {
	const check = "head"
	if len(v.need.Head.Containers) == 0 || v.Nodes.Err != nil || v.Use.Err != nil {
		return nil // said already
	}
	ask := requests(&v.need.Head)
	var allowed, roomy []string
	var obstacles []string
	for _, it := range v.every {
		o := Between(&v.need.Head, it.Node)
		switch {
		case !it.up():
		case !o.None():
			if text := o.String(); !slices.Contains(obstacles, text) {
				obstacles = append(obstacles, text)
			}
		default:
			allowed = append(allowed, it.Name)
			if len(Shortages(ask, without(it.Status.Allocatable, v.Use.Value[it.Name].All))) == 0 {
				roomy = append(roomy, it.Name)
			}
		}
	}
	cpu, memory := ask[corev1.ResourceCPU], ask[corev1.ResourceMemory]
	wants := fmt.Sprintf("cpu %s, memory %s", &cpu, &memory)
	switch {
	case len(roomy) > 0:
		return ok(check, "%s with room for the head (%s)", counted(len(roomy), "node"), wants)
	case len(allowed) > 0:
		return []Finding{v.orAutoscaler(Finding{
			Check: check, What: "no room for the head (" + wants + ")", Where: allowed,
			Consequence: "the Ray cluster does not start", Remedy: "free some, or add a node without GPUs",
		})}
	}
	if len(obstacles) == 0 {
		obstacles = []string{"none is ready"}
	}
	return []Finding{v.orAutoscaler(Finding{
		Check: check, What: "no node for the head: " + few(obstacles, manyValues),
		Consequence: "the Ray cluster does not start", Remedy: "add a node without GPUs, or set kubernetes.headOnGPU in trainyard.yaml",
	})}
}
