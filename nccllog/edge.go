package nccllog

import "bytes"

// edgeKey is what makes an edge seen from one end different from another.
type edgeKey struct {
	comm                    uint64
	channel, conn, from, to int
	direction               Direction
	look
}

// look is how an edge travels.
type look struct {
	transport     Transport
	net           string
	device, proxy int
	gdr, shared   bool
}

// channel takes lines that begin with Channel or, up to NCCL 2.6, with Ring.
// Two more kinds begin alike and are no edges: the order of the ranks in a ring
// ("Channel 00/08 :  0  1  2", where 08 is the number of channels) and the ring
// seen from one rank ("Ring 00 : 1 -> 0 -> 1").
func (p *Parser) channel(ps *process, r record) bool {
	s := scanner{r.msg}
	old := s.skip("Ring ")
	if !old && !s.skip("Channel ") {
		return false
	}
	e, ok := parseEdge(s)
	switch {
	case ok:
		ps.addEdge(r, e)
	case old && !contains(s.b, " via "), ps.ringOrder(r, s):
	default:
		p.count(&p.log.Unparsed, r.msg)
	}
	return true
}

// ringOrder takes the number of channels from the order of the ranks.
func (ps *process) ringOrder(r record, s scanner) bool {
	_, ok := s.number()
	if !ok || !s.skip("/") {
		return false
	}
	count, ok := s.number()
	if !ok || !s.skip(" : ") {
		return false
	}
	for _, c := range s.b {
		if c != ' ' && !isDigit(c) {
			return false
		}
	}
	if c := r.thread.comm; c != nil && c.Channels == 0 {
		c.Channels = count
	}
	return true
}

// parsedEdge keeps the network's name as bytes, so that an edge seen before
// costs no allocation.
type parsedEdge struct {
	Edge
	name []byte
}

// parseEdge reads "CC/K : A[a] -> B[b] [send] via TAIL"; /K and the brackets
// are missing in some versions.
func parseEdge(s scanner) (e parsedEdge, ok bool) {
	if e.Channel, ok = s.number(); !ok {
		return e, false
	}
	if s.skip("/") {
		if e.Conn, ok = s.number(); !ok {
			return e, false
		}
	}
	if !s.skip(" : ") {
		return e, false
	}
	if e.From, ok = s.rank(); !ok || !s.skip(" -> ") {
		return e, false
	}
	if e.To, ok = s.rank(); !ok {
		return e, false
	}
	switch {
	case s.skip(" [send]"):
		e.Direction = Send
	case s.skip(" [receive]"):
		e.Direction = Receive
	}
	return e, s.skip(" via ") && e.tail(s)
}

// rank takes "3[a01d0]" and returns 3.
func (s *scanner) rank() (int, bool) {
	n, ok := s.number()
	if !ok || !s.skip("[") {
		return n, ok
	}
	_, ok = s.hex()
	return n, ok && s.skip("]")
}

// tail reads how the edge travels. What fits no form is not an edge: half a
// line must not count as a network that it may not be.
func (e *parsedEdge) tail(s scanner) bool {
	if cut := bytes.Index(s.b, []byte(" comm 0x")); cut >= 0 { // RCCL
		s.b = s.b[:cut]
	}
	s.b = bytes.TrimRight(s.b, " ")
	e.Proxy = -1
	switch {
	case s.skip("NET/"):
		e.Transport = NET
		return e.Direction != "" && e.network(s)
	case s.skip("P2P/"):
		e.Transport = P2P
	case s.skip("SHM/"):
		e.Transport = SHM
	case s.skip("direct shared memory"):
		e.Transport, e.name = SHM, []byte("direct")
		return len(s.b) == 0
	default:
		return false
	}
	e.name = s.b
	return len(s.b) > 0
}

// network reads "NAME/DEV[(PROXY)][/GDRDMA][(PCI)][/Shared]". The name may hold
// blanks and ends at the first slash before a digit.
func (e *parsedEdge) network(s scanner) (ok bool) {
	at := 0
	for ; at+1 < len(s.b); at++ {
		if s.b[at] == '/' && isDigit(s.b[at+1]) {
			break
		}
	}
	if at == 0 || at+1 >= len(s.b) {
		return false
	}
	e.name, s.b = s.b[:at], s.b[at+1:]
	if e.Device, ok = s.number(); !ok {
		return false
	}
	if len(s.b) > 1 && s.b[0] == '(' && isDigit(s.b[1]) {
		s.skip("(")
		if e.Proxy, ok = s.number(); !ok || !s.skip(")") {
			return false
		}
	}
	e.GDR = s.skip("/GDRDMA")
	s.skip("(PCI)")
	e.Shared = s.skip("/Shared")
	return len(s.b) == 0
}

func (ps *process) addEdge(r record, e parsedEdge) {
	if c := r.thread.comm; c != nil && c.Rank == e.Own() && ps.only(c, &e.Edge) {
		e.Comm = c.Ptr
	}
	k := edgeKey{
		comm: e.Comm, channel: e.Channel, conn: e.Conn, from: e.From, to: e.To, direction: e.Direction,
		look: look{transport: e.Transport, device: e.Device, proxy: e.Proxy, gdr: e.GDR, shared: e.Shared},
	}
	k.net = ps.name(e.name)
	if seen := ps.edges[k]; seen != nil {
		seen.Count++
		return
	}
	if len(ps.edges) >= maxEdges {
		ps.log.Dropped++
		return
	}
	added := e.Edge
	added.Net, added.Count, added.Line = k.net, 1, r.line
	if _, known := ps.looks[k.look]; !known {
		ps.looks[k.look] = struct{}{}
		added.Text = r.fact().Text
	}
	ps.edges[k] = &added
	ps.Edges = append(ps.Edges, &added)
}

// only tells whether the edge can be meant for c and no other communicator: c
// is being initialised by this thread, or no other has the rank.
func (ps *process) only(c *Comm, e *Edge) bool {
	if c.Started.Seen() && !c.Completed.Seen() {
		return true
	}
	for _, o := range ps.Comms {
		if o != c && !o.Done.Seen() && o.Rank == e.Own() && e.Peer() < o.NRanks {
			return false
		}
	}
	return !c.Done.Seen()
}

// name returns the string of a network's name, the same one each time.
func (ps *process) name(b []byte) string {
	for i := len(ps.Edges) - 1; i >= max(0, len(ps.Edges)-4); i-- {
		if ps.Edges[i].Net == string(b) {
			return ps.Edges[i].Net
		}
	}
	return shorten(b)
}

// connected takes "Connected all rings", "Connected all trees" and their like.
func (ps *process) connected(r record) bool {
	rest, ok := bytes.CutPrefix(r.msg, []byte("Connected "))
	if !ok {
		return false
	}
	kind := connectedKind(rest)
	if kind == "" {
		return true
	}
	done := Connected{Kind: kind, Fact: Fact{Line: r.line}}
	if n := len(ps.Edges); n > 0 {
		if c := ps.CommOf(ps.Edges[n-1]); c != nil {
			done.Comm = c.Ptr
		}
	}
	for _, seen := range ps.Connected {
		if seen.Comm == done.Comm && seen.Kind == done.Kind {
			return true
		}
	}
	done.Fact = r.fact()
	ps.Connected = keep(ps, ps.Connected, done)
	return true
}

func connectedKind(rest []byte) string {
	switch {
	case hasPrefix(rest, "all rings"):
		return "rings"
	case hasPrefix(rest, "all trees"):
		return "trees"
	case hasPrefix(rest, "binomial trees"):
		return "binomial trees"
	case hasPrefix(rest, "NVLS tree"):
		return "nvls trees"
	case hasPrefix(rest, "Collnet"):
		return "collnet"
	}
	return ""
}
