package nccllog

import (
	"bytes"
	"strconv"
)

// commLine is one line about a communicator: pairs of word and value, then what
// happened, as in
//
//	ncclCommInitRank comm 0x1 rank 0 nranks 2 ... commId 0x2 - Init START
//	comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
type commLine struct {
	Comm
	hasRank bool
	event   []byte
}

// comm takes lines about a communicator. All forms since NCCL 2.5 are read
// alike; each version prints some of the pairs.
func (ps *process) comm(r record) bool {
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
	l := parseComm(s)
	if l.Ptr == 0 || !l.hasRank || l.NRanks == 0 {
		return true
	}
	c := ps.findComm(l)
	if c == nil {
		return true
	}
	r.thread.comm = c
	c.update(r, l)
	if !c.Network.Seen() && r.thread.network.Seen() {
		c.Network, r.thread.network = r.thread.network, Value{}
	}
	return true
}

func parseComm(s scanner) commLine {
	var l commLine
	for {
		key := s.word()
		if len(key) == 0 {
			return l
		}
		if string(key) == "-" {
			l.event = bytes.TrimSpace(s.b)
			return l
		}
		s.blanks()
		l.set(string(key), &s)
		if s.skip("- ") { // splits print no blank before the dash
			l.event = bytes.TrimSpace(s.b)
			return l
		}
	}
}

func (l *commLine) set(key string, s *scanner) {
	switch key {
	case "comm":
		l.Ptr, _ = s.hex()
	case "parent":
		l.Parent, _ = s.hex()
	case "commId":
		if id, ok := s.hex(); ok {
			l.ID = "0x" + strconv.FormatUint(id, 16)
		}
	case "rank":
		l.Rank, l.hasRank = s.number()
	case "nranks", "nRanks":
		l.NRanks, _ = s.number()
	case "nNodes":
		l.NNodes, _ = s.number()
	case "localRanks":
		l.LocalRanks, _ = s.number()
	case "color":
		l.Color = s.signed()
	case "key":
		s.signed()
	case "splitCount", "childCount":
		l.Child, _ = s.number()
	default:
		s.word()
	}
}

// findComm returns the living communicator of the line, or a new one.
func (ps *process) findComm(l commLine) *Comm {
	for i := len(ps.Comms) - 1; i >= 0; i-- {
		c := ps.Comms[i]
		if c.Ptr != l.Ptr {
			continue
		}
		if c.ID != "" && l.ID != "" && c.ID != l.ID || c.Done.Seen() {
			break // the pointer is used again
		}
		return c
	}
	if len(ps.Comms) >= maxFacts {
		ps.log.Dropped++
		return nil
	}
	c := l.Comm
	ps.Comms = append(ps.Comms, &c)
	return &c
}

func (c *Comm) update(r record, l commLine) {
	if c.ID == "" {
		c.ID = l.ID
	}
	switch {
	case l.NNodes > 0:
		c.NNodes, c.LocalRanks, c.Sized = l.NNodes, l.LocalRanks, r.fact()
	case string(l.event) == "Init START":
		c.Started = r.fact()
	case string(l.event) == "Init COMPLETE":
		c.Completed = r.fact()
	case hasPrefix(l.event, "Destroy") || hasPrefix(l.event, "Abort"):
		c.Done = r.fact()
	}
}

// channels takes "24 coll channels, ...", which is printed during initialisation.
func (ps *process) channels(r record) bool {
	s := scanner{r.msg}
	n, ok := s.number()
	if !ok || !s.skip(" coll channels") {
		return false
	}
	if c := r.thread.comm; c != nil {
		c.Channels = n
	}
	return true
}
