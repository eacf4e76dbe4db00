package nccllog

// event takes warnings, and the errors that NCCL prints at INFO. A job that
// hangs can print millions of equal ones.
func (ps *process) event(r record) {
	kind := eventKind(r.msg)
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
		return
	}
	if len(ps.Events) >= maxFacts {
		return // by now the kinds are known; equal warnings about other peers add nothing
	}
	ps.events[string(shape)] = len(ps.Events)
	ps.Events = append(ps.Events, Event{Kind: kind, Count: 1, Fact: r.fact()})
}

// shapeOf is the message without its numbers, short, so that equal messages
// about different peers count as one.
func shapeOf(key []byte, kind EventKind, msg []byte) []byte {
	key = append(key, kind...)
	for _, c := range msg {
		if len(key) == cap(key) {
			break
		}
		if !isDigit(c) {
			key = append(key, c)
		}
	}
	return key
}

func eventKind(m []byte) EventKind {
	switch m[0] {
	case 's':
		switch {
		case hasPrefix(m, "socketFinalizeAccept: "), hasPrefix(m, "socketFinalizeConnect: "):
			return EventForeignPeer
		case hasPrefix(m, "socketProgress: Connection closed"),
			hasPrefix(m, "socketStartConnect: exceeded"),
			hasPrefix(m, "socketPollConnect: ") && contains(m, "exceeded"):
			return EventNetwork
		}
	case 'B':
		if hasPrefix(m, "Bootstrap : no socket interface found") ||
			hasPrefix(m, "Bootstrap: no socket interface found") {
			return EventBootstrap
		}
	case 'N':
		return netEventKind(m)
	}
	if contains(m, "exceeded error retry count") {
		return EventNetwork
	}
	return ""
}

func netEventKind(m []byte) EventKind {
	switch {
	case hasPrefix(m, "Net : Connection closed by remote peer"),
		hasPrefix(m, "Net : Connect to ") && contains(m, "failed"),
		hasPrefix(m, "NET/OFI Request ") && contains(m, "completed with error"),
		hasPrefix(m, "NET/OFI Operation with NULL context completed with error"),
		hasPrefix(m, "NET/OFI Unexpected number of remote rails"),
		hasPrefix(m, "NET/IB ") && contains(m, "completion with error"):
		return EventNetwork
	}
	return ""
}
