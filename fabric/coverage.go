package fabric

import "slices"

// coverage counts ranks. Where the world size is not known, the largest
// communicator stands for it.
func (j *job) coverage() Coverage {
	expected, seen := j.Ranks, j.ranksShown()
	if expected == 0 {
		for _, g := range j.comms {
			expected = max(expected, g.ranks)
		}
	}
	if expected > 0 {
		seen = min(seen, expected)
	}
	return Coverage{Expected: expected, Seen: seen}
}

// current are the communicators that were not replaced by later ones.
func (j *job) current() []*communicator {
	return slices.DeleteFunc(slices.Clone(j.comms), func(g *communicator) bool { return g.over })
}

// ranksShown counts the ranks that the logs show: those of the largest
// communicator, or of all where they add up to more. Processes are no measure: a
// rank that was started anew has several.
func (j *job) ranksShown() int {
	largest := 0
	for _, g := range j.current() {
		largest = max(largest, len(g.members))
		if g.ranks == j.Ranks && len(g.members) == g.ranks {
			return g.ranks
		}
	}
	return max(largest, len(gpus(j.current())))
}

// gpu is a rank's GPU. NCCL gives each rank of a job one of its own, so distinct
// GPUs are distinct ranks, whatever processes ran on them one after the other.
type gpu struct {
	host string
	bus  uint64
}

func (g gpu) known() bool { return g.host != "" && g.bus > 0 }

// gpus are those that are known for sure: what is not known could be any.
func gpus(comms []*communicator) map[gpu]bool {
	all := map[gpu]bool{}
	for _, g := range comms {
		for _, m := range g.members {
			if at := (gpu{address(m.proc.Process), m.BusID}); at.known() {
				all[at] = true
			}
		}
	}
	return all
}

// nodesSeen counts nodes as NCCL does: those of a communicator of all ranks, or
// the hosts of all. NCCL_HOSTID makes one of several hosts.
func (j *job) nodesSeen() int {
	most, hosts := 0, map[string]bool{}
	for _, g := range j.current() {
		nodes := max(g.nodes, g.places())
		if g.ranks == j.ranks.Expected && len(g.members) == g.ranks && nodes > 0 {
			return nodes
		}
		most = max(most, nodes)
		for _, m := range g.members {
			if at := address(m.proc.Process); at != "" {
				hosts[at] = true
			}
		}
	}
	if slices.ContainsFunc(j.procs, func(p *process) bool { _, ok := p.Setting("NCCL_HOSTID"); return ok }) {
		return most
	}
	return max(most, len(hosts))
}
