package nccllog

import (
	"bytes"
	"cmp"
	"strconv"
)

// commLine is one line about a communicator: pairs of word and value, then what
// happened, as in
//
//	ncclCommInitRank comm 0x1 rank 0 nranks 2 ... commId 0x2 - Init START
//	comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
type commLine struct {
	ptr, parent, id, busID uint64
	rank, nRanks           int
	nNodes, localRanks     int
	child, color           int
	hasID, hasRank, mnnvl  bool
	event                  []byte
}

// comm takes lines about a communicator. All forms since NCCL 2.5 are read
// alike; each version prints some of the pairs.
func (ps *process) comm(r *record) bool {
	s := scanner{r.msg}
	if s.skip("[Rank ") {
		s.number()
		s.skip("] ")
	}
	if hasPrefix(s.b, "ncclComm") {
		s.word()
		s.blanks()
	}
	if !hasPrefix(s.b, "comm 0x") {
		return false
	}
	l := parseComm(s.b)
	if l.ptr == 0 || !l.hasRank || l.nRanks == 0 {
		return true
	}
	if c := ps.findComm(&l); c != nil {
		ps.update(c, r, &l)
	}
	return true
}

// parseComm reads the pairs; splits print no blank before the dash.
func parseComm(b []byte) commLine {
	var l commLine
	if dash := lastDash(b); dash >= 0 {
		b, l.event = b[:dash], bytes.TrimSpace(b[dash+2:])
	}
	for s := (scanner{b}); ; {
		key := s.word()
		if len(key) == 0 {
			return l
		}
		s.blanks()
		l.set(key, &s)
	}
}

// lastDash returns the place of the last dash before a blank, or -1.
func lastDash(b []byte) int {
	for at := len(b) - 2; at >= 0; at-- {
		if b[at] == '-' && b[at+1] == ' ' {
			return at
		}
	}
	return -1
}

func (l *commLine) set(key []byte, s *scanner) {
	switch string(key) {
	case "comm":
		l.ptr, _ = s.hex()
	case "parent":
		l.parent, _ = s.hex()
	case "commId":
		l.id, l.hasID = s.hex()
	case "rank":
		l.rank, l.hasRank = s.number()
	case "nranks", "nRanks":
		l.nRanks, _ = s.number()
	case "nNodes":
		l.nNodes, _ = s.number()
	case "localRanks":
		l.localRanks, _ = s.number()
	case "color":
		l.color = s.signed()
	case "key":
		s.signed()
	case "splitCount", "childCount":
		l.child, _ = s.number()
	case "busId":
		l.busID, _ = s.hex()
	case "MNNVL":
		n, _ := s.number()
		l.mnnvl = n > 0
	case "bytes": // RCCL: "used 18944 bytes"
	default:
		s.word()
	}
}

// findComm returns the living communicator of the line, or a new one.
func (ps *process) findComm(l *commLine) *Comm {
	for i := len(ps.Comms) - 1; i >= 0; i-- {
		c := ps.Comms[i]
		if c.Ptr != l.ptr {
			continue
		}
		if c.gone(l) {
			break // the pointer is used again
		}
		return c
	}
	if len(ps.Comms) >= maxFacts {
		ps.log.Dropped++
		return nil
	}
	c := l.comm()
	if parent := ps.living(l.parent); parent != nil {
		c.Network = parent.Network
	}
	ps.Comms = append(ps.Comms, c)
	return c
}

func (l *commLine) comm() *Comm {
	return &Comm{
		Ptr: l.ptr, ID: string(l.appendID(nil)), Rank: l.rank, NRanks: l.nRanks,
		NNodes: l.nNodes, LocalRanks: l.localRanks, MNNVL: l.mnnvl,
		Parent: l.parent, Child: l.child, Color: l.color, BusID: l.busID,
	}
}

// appendID appends the id as NCCL prints it, nothing where it is missing.
func (l *commLine) appendID(text []byte) []byte {
	if !l.hasID {
		return text
	}
	return strconv.AppendUint(append(text, "0x"...), l.id, 16)
}

// gone tells that the line is about another communicator at the same place in
// memory. NCCL 2.30 does not say by default that one was destroyed.
func (c *Comm) gone(l *commLine) bool {
	again := string(l.event) == "Init START" && c.Completed.Seen()
	return c.Done.Seen() || c.NRanks != l.nRanks || c.Rank != l.rank ||
		c.ID != "" && l.hasID && !c.hasID(l) || again && c.ID == ""
}

func (c *Comm) hasID(l *commLine) bool {
	var text [len("0x0123456789abcdef")]byte
	return c.ID == string(l.appendID(text[:0]))
}

// update takes what happened. Ends are not about the communicator that the
// thread is busy with.
func (ps *process) update(c *Comm, r *record, l *commLine) {
	if c.ID == "" {
		c.ID = string(l.appendID(nil))
	}
	c.BusID = cmp.Or(c.BusID, l.busID)
	switch string(l.event) {
	case "Init START":
		ps.named(r.thread, c)
		c.Started = first(c.Started, r)
	case "Init COMPLETE":
		ps.named(r.thread, c)
		c.Completed = first(c.Completed, r)
		ps.completed(r.thread, c)
	case "Destroy COMPLETE":
		c.Done = first(c.Done, r)
	case "Abort COMPLETE", "Abort START":
		c.Aborted = c.Aborted || !c.Done.Seen()
		c.Done = first(c.Done, r)
	default:
		if l.nNodes > 0 {
			ps.named(r.thread, c)
			c.NNodes, c.LocalRanks, c.MNNVL = l.nNodes, l.localRanks, l.mnnvl
			c.Sized = first(c.Sized, r)
		}
	}
}

func first(f Fact, r *record) Fact {
	if f.Seen() {
		return f
	}
	return r.fact()
}

// channels takes "24 coll channels, 24 collnet channels, 16 nvls channels, ...",
// which is printed during initialisation. NCCL 2.17 to 2.19 leave out CollNet's,
// older versions NVLS's too.
func (ps *process) channels(r *record) bool {
	s := scanner{r.msg}
	n, ok := s.number()
	if !ok || !s.skip(" coll channels") {
		return false
	}
	s.skip(", ")
	nvls := 0
	if count, ok := s.number(); ok && s.skip(" collnet channels, ") {
		nvls, _ = s.number()
	} else {
		nvls = count
	}
	if !s.skip(" nvls channels") {
		nvls = 0
	}
	r.thread.begins()
	r.thread.count(n, nvls)
	return true
}
