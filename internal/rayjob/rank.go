package rayjob

import (
	"regexp"
	"slices"
	"strconv"
)

// Process is one operating system process of the cluster.
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
}

// announcement matches the controller's line, with or without the prefix that
// Ray puts before it in the driver's log, in Train v2 and (with node_id) v1.
var announcement = regexp.MustCompile(`- \((?:node_id=[^,]*, )?ip=([^,]+), pid=(\d+)\) world_rank=(\d+), local_rank=(\d+), node_rank=(\d+)`)

// Observe takes a line of the driver's log and says whether it told a rank.
func (r *Ranks) Observe(line []byte) bool {
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
		r.all = map[Process]Rank{}
	}
	r.all[rank.Process] = rank
	r.join(rank)
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
	}
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
