package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// room judges how many workers find room now, and how many once what runs there
// has ended.
func room(v view) []Finding {
	const check = "room"
	usable := v.placeable()
	if v.Nodes.Err != nil || len(usable) == 0 {
		return nil // said of the nodes
	}
	if v.Use.Err != nil {
		return unseen(check, v.Use.Err, "workers stay Pending while others hold the nodes", "ask an administrator for the right to list pods in all namespaces: kubectl auth can-i list pods -A")
	}
	now, later := 0, 0
	var busy, small []node
	holders := map[string][]string{}
	for _, it := range usable {
		use := v.Use.Value[it.Name]
		switch {
		case len(Shortages(v.ask, without(it.Status.Allocatable, use.All))) == 0:
			now++
			later++
		case len(Shortages(v.ask, without(it.Status.Allocatable, use.Lasting))) == 0:
			later++
			busy = append(busy, it)
			holders[it.Name] = use.Holders
		default:
			small = append(small, it)
		}
	}
	var all []Finding
	if later < v.need.Nodes {
		all = v.tooSmall(small)
	}
	if now >= v.need.Nodes {
		return append(all, ok(check, "for %s now, %d wanted", counted(now, "worker"), v.need.Nodes)...)
	}
	f := Finding{
		Level: Warning, Check: check, What: fmt.Sprintf("for %s now, %d once others end, %d wanted", counted(now, "worker"), later, v.need.Nodes),
		Consequence: "workers stay Pending until there is room", Remedy: waitOr(now, later, v.need.Nodes),
	}
	for _, it := range busy {
		f.Where = append(f.Where, it.Name)
	}
	if pods := heldBusy(busy, holders); pods != "" {
		f.What += "; GPUs are held by " + pods
	}
	if later < v.need.Nodes {
		f.Consequence = "workers stay Pending"
		f = v.orAutoscaler(f)
	}
	return append(all, f)
}

// waitOr is the remedy where there is room for too few workers.
func waitOr(now, later, wanted int) string {
	switch {
	case later == 0:
		return "make good what the nodes lack, or take others"
	case later < wanted:
		return fmt.Sprintf("make good what other nodes lack, or ask for fewer with --nodes %d", later)
	case now == 0:
		return "wait until they end"
	}
	return fmt.Sprintf("wait until they end, or ask for fewer with --nodes %d", now)
}

func heldBusy(busy []node, holders map[string][]string) string {
	var pods []string
	for _, it := range busy {
		pods = append(pods, holders[it.Name]...)
	}
	return few(pods, manyValues)
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
			Consequence: "no worker ever goes there", Remedy: "lower kubernetes.workerCPU and kubernetes.workerMemory in trainyard.yaml",
		}, len(short) > 0
	})
}

// headRoom judges whether a node has room for the head.
func headRoom(v view) []Finding {
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
		Consequence: "the Ray cluster does not start", Remedy: "add a node without GPUs, or set kubernetes.headOnGPUNode in trainyard.yaml",
	})}
}
