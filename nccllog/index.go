package nccllog

import (
	"math/rand/v2"
	"slices"
)

// edgeIndex finds edges that were seen before. A log of a large job holds
// half a million of them, so it costs a few bytes an edge: an open-addressed
// table of places in Process.Edges, from 1.
type edgeIndex struct {
	slots []uint32 // a power of two of them, at most half in use
	slab  []Edge   // room for the next edges, allocated together
	looks []int32  // the first edge of each look
}

const (
	minSlots = 16
	maxSlab  = 64
)

// factors makes that no log can be written to fall into one place of a table.
var factors = [...]uint64{rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64()}

// hashOf is of most of what makes an edge, seen from one end, different from
// another. The run of set-up stands for the communicator. A sum of products with
// random factors, of which the upper half counts, is as even as any and quick.
func hashOf(e *Edge) uint32 {
	sum := factors[0]*uint64(e.Setup) + factors[1]*uint64(e.Channel) + factors[2]*uint64(e.Conn) +
		factors[3]*uint64(e.From) + factors[4]*uint64(e.To) + factors[5]*uint64(e.Device) + factors[6]*uint64(e.Proxy)
	return uint32(sum >> 32)
}

func sameEdge(a, b *Edge) bool {
	return a.Setup == b.Setup && a.Channel == b.Channel && a.Conn == b.Conn && a.From == b.From && a.To == b.To &&
		a.Direction == b.Direction && alike(a, b)
}

// alike tells whether edges travel the same way.
func alike(a, b *Edge) bool {
	return a.Transport == b.Transport && a.Device == b.Device && a.Proxy == b.Proxy && a.GDR == b.GDR && a.Shared == b.Shared && a.Net == b.Net
}

// find returns the edge that was seen before, or else the slot for a new one.
func (x *edgeIndex) find(edges []*Edge, e *Edge) (*Edge, int) {
	if len(x.slots) == 0 {
		x.slots = make([]uint32, minSlots)
	}
	for i := x.home(e); ; i = x.next(i) {
		if x.slots[i] == 0 {
			return nil, i
		}
		if seen := edges[x.slots[i]-1]; sameEdge(seen, e) {
			return seen, i
		}
	}
}

func (x *edgeIndex) next(slot int) int { return (slot + 1) & (len(x.slots) - 1) }

func (x *edgeIndex) home(e *Edge) int {
	return int(hashOf(e)) & (len(x.slots) - 1)
}

// add fills the slot with the place of a new edge and returns room for it.
func (x *edgeIndex) add(slot, place int) *Edge {
	x.slots[slot] = uint32(place + 1)
	if len(x.slab) == 0 {
		x.slab = make([]Edge, min(maxSlab, place/2+2))
	}
	added := &x.slab[0]
	x.slab = x.slab[1:]
	return added
}

// firstLook tells whether no edge before travels the same way.
func (x *edgeIndex) firstLook(edges []*Edge, e *Edge) bool {
	same := func(at int32) bool { return alike(edges[at], e) }
	if n := len(edges); n > 0 && same(int32(n-1)) || slices.ContainsFunc(x.looks, same) {
		return false
	}
	if len(x.looks) < maxFacts {
		x.looks = append(x.looks, int32(len(edges)))
	}
	return true
}

// grow makes room before the table is more than half full.
func (x *edgeIndex) grow(edges []*Edge) {
	if 2*len(edges) < len(x.slots) {
		return
	}
	x.slots = make([]uint32, 2*len(x.slots))
	for place, e := range edges {
		i := x.home(e)
		for x.slots[i] != 0 {
			i = x.next(i)
		}
		x.slots[i] = uint32(place + 1)
	}
}
