package evidence

import (
	"maps"
	"slices"

	"github.com/trainyard/trainyard/fabric"
)

// Testimony is what the ranks of a job say of their machines and of what they
// sent, of each rank the newest record.
type Testimony struct{ byRank map[int]Record }

// Hear takes a record of evidence. A job that was started again with another
// number of ranks has only those.
func (t *Testimony) Hear(r Record) {
	maps.DeleteFunc(t.byRank, func(_ int, other Record) bool { return other.WorldSize != r.WorldSize })
	if t.byRank == nil {
		t.byRank = map[int]Record{}
	}
	t.byRank[r.Rank] = r
}

// Machines gives each node the counters that its lowest rank has read: all
// ranks of a node read the same cards.
func (t *Testimony) Machines() []fabric.Machine {
	var machines []fabric.Machine
	seen := map[string]bool{}
	for _, r := range t.ranks() {
		if seen[r.Node] || len(r.Counters) == 0 {
			continue
		}
		seen[r.Node] = true
		m := fabric.Machine{Name: r.Node}
		for _, c := range r.Counters {
			m.Counters = append(m.Counters, fabric.Counter(c))
		}
		machines = append(machines, m)
	}
	return machines
}

// BytesPerNode is what every node must have sent to others at least; 0 where
// not every rank of the job has said what it did. Half of what the collectives
// of rings send, because switches that add up what passes through them save the
// other half.
func (t *Testimony) BytesPerNode() uint64 {
	sent := map[string]uint64{}
	for _, r := range t.ranks() {
		if r.Steps == 0 || r.WorldSize != len(t.byRank) {
			return 0
		}
		sent[r.Node] += r.BytesAcrossNodes
	}
	var least uint64
	for _, bytes := range sent {
		if least == 0 || bytes < least {
			least = bytes
		}
	}
	return least / 2
}

// ranks lists the records by rank.
func (t *Testimony) ranks() []Record {
	all := make([]Record, 0, len(t.byRank))
	for rank := range t.byRank {
		all = append(all, t.byRank[rank])
	}
	slices.SortFunc(all, func(a, b Record) int { return a.Rank - b.Rank })
	return all
}
