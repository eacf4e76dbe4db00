package nccllog

// channel takes lines that begin with Channel or, up to NCCL 2.6, with Ring.
// Two more kinds begin alike and are no edges: the order of the ranks in a ring
// ("Channel 00/08 :  0  1  2", where 08 is the number of channels, which NCCL 2.4
// leaves out) and the ring seen from one rank ("Ring 00 : 1 -> 0 -> 1").
func (p *Parser) channel(ps *process, r *record) bool {
	s := scanner{r.msg}
	old := !s.skip("Channel ")
	if old && !s.skip("Ring ") {
		return false
	}
	var e parsedEdge
	switch {
	case e.parse(s.b):
		ps.addEdge(r, &e)
	case old && !contains(s.b, " via "), ps.ringOrder(r, s):
	default:
		p.unread(ps.Host, ps.PID, r.msg)
	}
	return true
}

// ringOrder takes the number of channels from the order of the ranks.
func (ps *process) ringOrder(r *record, s scanner) bool {
	count, ok := s.number()
	if !ok {
		return false
	}
	if s.skip("/") {
		count, _ = s.number()
	} else {
		count++ // the channel is the last one so far
	}
	if !s.skip(" :") {
		return false
	}
	for _, c := range s.b {
		if c != ' ' && !isDigit(c) {
			return false
		}
	}
	r.thread.begins()
	r.thread.count(count, 0)
	return true
}

// parsedEdge keeps the network's name as bytes, so that an edge seen before
// costs no allocation. Indexed tells that the line has the index of the
// connection: SHM edges never have it, and none has before NCCL 2.12.
type parsedEdge struct {
	Edge
	indexed bool
	named   *commLine // the communicator, which RCCL prints behind the edge
	name    []byte
}

// parse reads "CC/K : A[a] -> B[b] [send] via TAIL"; /K and the brackets are
// missing in some versions.
func (e *parsedEdge) parse(b []byte) (ok bool) {
	if e.Channel, b, ok = cutNumber(b); !ok {
		return false
	}
	if b, e.indexed = cutPrefix(b, "/"); e.indexed {
		if e.Conn, b, ok = cutNumber(b); !ok {
			return false
		}
	}
	if b, ok = cutPrefix(b, " : "); !ok {
		return false
	}
	if e.From, b, ok = cutRank(b); !ok {
		return false
	}
	if b, ok = cutPrefix(b, " -> "); !ok {
		return false
	}
	if e.To, b, ok = cutRank(b); !ok {
		return false
	}
	if b, ok = cutPrefix(b, " [send]"); ok {
		e.Direction = Send
	} else if b, ok = cutPrefix(b, " [receive]"); ok {
		e.Direction = Receive
	}
	b, ok = cutPrefix(b, " via ")
	return ok && e.tail(scanner{b})
}

// cutRank takes "3[a01d0]" off the front and returns 3.
func cutRank(b []byte) (n int, rest []byte, ok bool) {
	n, b, ok = cutNumber(b)
	if !ok || len(b) == 0 || b[0] != '[' {
		return n, b, ok
	}
	end := 1
	for end < len(b) && isHex(b[end]) {
		end++
	}
	if end == 1 || end == len(b) || b[end] != ']' {
		return n, b, false
	}
	return n, b[end+1:], true
}

// tail reads how the edge travels. What fits no form is not an edge: half a
// line must not count as a network that it may not be.
func (e *parsedEdge) tail(s scanner) bool {
	if at := index(s.b, " comm 0x", 0); at < len(s.b) {
		named := parseComm(s.b[at+1:])
		named.rank = e.Own()
		e.named = &named
		s.b = s.b[:trimBlanks(s.b, at)]
	}
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

func (ps *process) addEdge(r *record, e *parsedEdge) {
	ps.place(r.thread, e)
	e.Net = ps.name(e.name)
	seen, slot := ps.edges.find(ps.Edges, &e.Edge)
	if seen != nil {
		seen.Count++
		return
	}
	if len(ps.Edges) >= maxEdges {
		ps.log.Dropped++
		return
	}
	added := ps.edges.add(slot, len(ps.Edges))
	*added = e.Edge
	added.Count, added.Line = 1, r.line
	if ps.edges.firstLook(ps.Edges, added) {
		added.Text = r.fact().Text
	}
	ps.Edges = append(ps.Edges, added)
	ps.edges.grow(ps.Edges)
}

// name returns the string of a network's name, mostly the same one each time.
func (ps *process) name(b []byte) string {
	for _, name := range ps.nets {
		if name == string(b) {
			return name
		}
	}
	copy(ps.nets[1:], ps.nets[:])
	ps.nets[0] = shorten(b)
	return ps.nets[0]
}

// trees takes "Trees [0] 1/-1/-1->0->-1 ...", which is printed during
// initialisation by every rank.
func (ps *process) trees(r *record) bool {
	if !hasPrefix(r.msg, "Trees [") {
		return false
	}
	r.thread.begins()
	return true
}
