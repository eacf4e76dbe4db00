package rayjob

import (
	"regexp"
	"slices"
	"strconv"
)

// Process is one operating system process of the cluster. Nodes on one machine
// share an address, and pods have the same PIDs; both together tell processes
// apart.
type Process struct {
	IP  string
	PID int
}

// Rank is a training process and its place in the world, as Ray Train's
// controller announces it.
type Rank struct {
	Process
	World, Local, Node int
}

// Ranks collects the announcements. The zero value is ready for use. A worker
// group that was started again announces itself again, with new processes.
type Ranks struct {
	all     map[Process]Rank
	current []Rank

	groups      int // worker groups so far
	group       map[Process]int
	controllers map[int]bool // by pid
}

// announcement matches the controller's line, with or without the prefix that
// Ray puts before it in the driver's log, in Train v2 and (with node_id) v1.
var announcement = regexp.MustCompile(`- \((?:node_id=[^,]*, )?ip=([^,]+), pid=(\d+)\) world_rank=(\d+), local_rank=(\d+), node_rank=(\d+)`)

// Observe takes a line that the process called controller printed, and says
// whether it told a rank.
func (r *Ranks) Observe(controller int, line []byte) bool {
	m := announcement.FindSubmatch(line)
	if m == nil {
		return false
	}
	var n [4]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(string(m[i+2])); err != nil {
			return false
		}
	}
	rank := Rank{Process{string(m[1]), n[0]}, n[1], n[2], n[3]}
	if r.all == nil {
		r.all, r.group, r.controllers = map[Process]Rank{}, map[Process]int{}, map[int]bool{}
	}
	r.all[rank.Process] = rank
	r.controllers[controller] = true
	r.join(rank)
	r.group[rank.Process] = r.groups
	return true
}

// join adds the rank to the current group, or starts the next one where its
// place is taken by another process.
func (r *Ranks) join(rank Rank) {
	i := slices.IndexFunc(r.current, func(other Rank) bool { return other.World == rank.World })
	switch {
	case i < 0:
		r.current = append(r.current, rank)
	case r.current[i].Process != rank.Process:
		r.current = []Rank{rank}
		r.groups++
	}
	r.groups = max(r.groups, 1)
}

// Attempt numbers the worker group of a process, from 1: where a group was
// started again, the later one has the higher number. It is 0 where that is not
// known: the process was not announced, or the job ran several trainers, whose
// groups are no attempts of each other.
func (r *Ranks) Attempt(p Process) int {
	if len(r.controllers) != 1 {
		return 0
	}
	return r.group[p]
}

// Of returns the rank of a process, of an earlier group too.
func (r *Ranks) Of(p Process) (Rank, bool) {
	rank, ok := r.all[p]
	return rank, ok
}

// Current returns the ranks of the latest worker group, by world rank.
func (r *Ranks) Current() []Rank {
	return slices.SortedFunc(slices.Values(r.current), func(a, b Rank) int { return a.World - b.World })
}
