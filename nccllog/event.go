package nccllog

// event takes warnings, and the errors that NCCL prints at INFO. A job that
// hangs can print millions of equal ones.
func (ps *process) event(r *record) {
	if f := &ps.flood; f.msg != nil && sameShape(f.msg, r.msg) {
		ps.Events[f.event].Count++
		ps.Events[f.event].Last = r.line
		return
	}
	kind := ps.eventKind(r)
	if kind == "" {
		if r.level != warn {
			return
		}
		kind = EventWarn
	}
	var key [80]byte
	shape := shapeOf(key[:0], kind, r.msg)
	if i, seen := ps.events[string(shape)]; seen {
		ps.Events[i].Count++
		ps.Events[i].Last = r.line
		ps.flood.begin(kind, r.msg, i)
		return
	}
	if len(ps.Events) >= maxFacts {
		return // by now the kinds are known; equal warnings about other peers add nothing
	}
	if ps.events == nil {
		ps.events = map[string]int{}
	}
	ps.events[string(shape)] = len(ps.Events)
	ps.Events = append(ps.Events, Event{Kind: kind, Count: 1, Last: r.line, Fact: r.fact()})
}

// shapeOf is the message without its numbers and pointers, short, so that equal
// messages about different peers count as one.
func shapeOf(key []byte, kind EventKind, msg []byte) []byte {
	key = append(key, kind...)
	for i := 0; i < len(msg) && len(key) < cap(key); i++ {
		switch {
		case msg[i] == '0' && i+1 < len(msg) && msg[i+1] == 'x':
			for i++; i+1 < len(msg) && isHex(msg[i+1]); i++ {
			}
		case !isDigit(msg[i]):
			key = append(key, msg[i])
		}
	}
	return key
}

// eventKind knows the messages that tell of an error. Most begin with the
// function that prints them; those that a socket prints are the same for the
// bootstrap and for NET/Socket.
// Source: NCCL src/misc/socket.cc, src/bootstrap.cc, src/init.cc.
func (ps *process) eventKind(r *record) EventKind {
	m := r.msg
	switch m[0] {
	case 's':
		return ps.socketKind(m)
	case 'B':
		if hasPrefix(m, "Bootstrap") && contains(m, "no socket interface found") || hasPrefix(m, "Bootstrap Root : ") {
			return EventBootstrap
		}
	case 'C':
		return ps.callKind(m)
	case 'D', 'M':
		if hasPrefix(m, "Detected mixed local Net device counts") && r.level == warn ||
			hasPrefix(m, "Mismatched NCCL version detected") {
			return EventMismatch
		}
	case 'N':
		return ps.netKind(m)
	case 'I':
		if hasPrefix(m, "Invalid NCCL_COMM_ID") {
			return EventBootstrap
		}
	case 'n': // ncclOsSocketPollConnect: in 2.29
		return ps.socketKind(m)
	}
	return ""
}

// socketKind takes what the functions of a socket print, "socketStartConnect: ..."
// or, since 2.27, "socketPollConnect to 10.0.0.1<7> failed with ...".
func (ps *process) socketKind(m []byte) EventKind {
	switch {
	case !contains(firstWord(m), "ocket"):
		return ""
	case hasPrefix(m, "socketFinalize"): // the hand-shake
		return EventForeignPeer
	case contains(m, "Connection closed by remote peer"), contains(m, "Call to recv"), contains(m, "Call to send"):
		return EventNetwork
	case contains(m, ", retrying"):
		return EventRetry
	case contains(m, "exceeded"), contains(m, " failed "):
		return ps.unreached()
	}
	return ""
}

// callKind takes "Call to connect returned ..." and what NET/IB prints of a
// queue pair that could not be connected.
func (ps *process) callKind(m []byte) EventKind {
	s := scanner{m}
	switch {
	case s.skip("Connect to "): // NCCL 2.4 to 2.9
		if contains(s.b, " failed : ") {
			return ps.unreached()
		}
	case !s.skip("Call to "):
	case hasPrefix(s.b, "connect"):
		return EventRetry
	case hasPrefix(s.b, "recv "), hasPrefix(s.b, "send "),
		hasPrefix(s.b, "ibv_modify_qp "), hasPrefix(s.b, "ibv_create_qp "),
		hasPrefix(s.b, "ibv_post_"), hasPrefix(s.b, "ibv_poll_cq"):
		return EventNetwork
	}
	return ""
}

// unreached tells what it means that a peer could not be connected to: up to a
// process's first edge there is nothing but the bootstrap.
func (ps *process) unreached() EventKind {
	if len(ps.Edges) == 0 {
		return EventBootstrap
	}
	return EventNetwork
}

func (ps *process) netKind(m []byte) EventKind {
	s := scanner{m}
	switch {
	case s.skip("NET/OFI "):
		return ofiKind(s.b)
	case s.skip("NET/IB"):
		if contains(s.b, "Got completion") || contains(s.b, "async fatal event") {
			return EventNetwork
		}
	case s.skip("NET/Socket : No usable listening interface"):
		return EventBootstrap
	case s.skip("NET/Socket : socket progress error"), s.skip("NET/Socket : unable to"):
		return EventNetwork
	case !s.skip("Net : "):
	case hasPrefix(s.b, "Connection closed by remote peer"), hasPrefix(s.b, "Call to "):
		return EventNetwork
	case hasPrefix(s.b, "Connect to ") && contains(s.b, "failed"):
		return ps.unreached()
	case hasPrefix(s.b, "No interface found in the same subnet"),
		hasPrefix(s.b, "error encountered when getting address info"):
		return EventBootstrap
	}
	return ""
}

// ofiKind knows the errors of the OFI plugin at run time: completions with an
// error, and peers whose address or rails do not fit.
// Source: aws-ofi-nccl src/nccl_ofi_rdma.cpp, src/nccl_ofi_sendrecv.cpp.
func ofiKind(m []byte) EventKind {
	switch {
	case contains(m, "completed with error"),
		hasPrefix(m, "Unexpected number of remote rails"),
		contains(m, "into address vector"),
		contains(m, "Failed call to fi_av_insert"):
		return EventNetwork
	}
	return ""
}
