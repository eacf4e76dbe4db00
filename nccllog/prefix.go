package nccllog

import "bytes"

type level byte

const (
	info level = iota + 1
	warn
	other // TRACE and CALL
)

// markerLen is the length of "NCCL INFO "; the levels that matter are all of
// four letters, and TRACE is not read any further.
const markerLen = len("NCCL INFO ")

// marker finds the first "NCCL <LEVEL> ".
func marker(b []byte) (at int, l level) {
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte("NCCL "))
		if i < 0 {
			return -1, 0
		}
		at = from + i
		rest := b[at+len("NCCL "):]
		switch {
		case hasPrefix(rest, "INFO "):
			return at, info
		case hasPrefix(rest, "WARN "):
			return at, warn
		case hasPrefix(rest, "TRACE ") || hasPrefix(rest, "CALL "):
			return at, other
		}
		from = at + len("NCCL ")
	}
}

// prefix is what stands before the level: host:pid:tid [device].
type prefix struct {
	host     []byte
	pid, tid int
	start    int // where host begins
}

// parsePrefix reads the last host:pid:tid before the level. Anything may come
// before it (time stamps of any form, wrappers), and after it the place in the
// source, which for plugins is a function's whole signature, blanks included.
func parsePrefix(left []byte) (prefix, bool) {
	s := bytes.TrimRight(left, " ")
	if open := bytes.LastIndexByte(s, '['); open >= 0 && len(s) > 0 && s[len(s)-1] == ']' {
		s = bytes.TrimRight(s[:open], " ")
	}
	start := bytes.LastIndexByte(s, ' ') + 1
	if pre, ok := parseID(s[start:], start); ok {
		return pre, true
	}
	return searchPrefix(left)
}

// searchPrefix is the slow way: the last word of the right form that is
// followed by the device in brackets.
func searchPrefix(left []byte) (found prefix, ok bool) {
	for at := 0; at < len(left); {
		end := bytes.IndexByte(left[at:], ' ')
		if end < 0 {
			break
		}
		if pre, is := parseID(left[at:at+end], at); is && hasPrefix(left[at+end:], " [") {
			found, ok = pre, true
		}
		at += end + 1
	}
	return found, ok
}

// parseID reads host:pid:tid, where a wrapper may be glued to the host.
func parseID(word []byte, at int) (prefix, bool) {
	rest, tid, ok := cutNumber(word)
	if !ok {
		return prefix{}, false
	}
	rest, pid, ok := cutNumber(rest)
	if !ok {
		return prefix{}, false
	}
	glued := len(rest)
	for glued > 0 && !isGlue(rest[glued-1]) {
		glued--
	}
	host := rest[glued:]
	if len(host) == 0 {
		return prefix{}, false
	}
	return prefix{host: host, pid: pid, tid: tid, start: at + glued}, true
}

// isGlue tells whether a wrapper ends with the byte: [1,30]<stdout>: or [rank3]:
func isGlue(c byte) bool { return c == ':' || c == '>' || c == ']' || c == ')' }

// cutNumber takes ":digits" off the end.
func cutNumber(b []byte) (rest []byte, n int, ok bool) {
	i := bytes.LastIndexByte(b, ':')
	if i < 0 {
		return nil, 0, false
	}
	s := scanner{b[i+1:]}
	n, ok = s.number()
	return b[:i], n, ok && len(s.b) == 0
}

// ray is the prefix of Ray's driver log: (name pid=N) or (name pid=N, ip=I).
type ray struct {
	pid int
	ip  []byte
}

// cutRay takes Ray's prefix off the front.
func cutRay(b []byte) (ray, []byte) {
	if !hasPrefix(b, "(") {
		return ray{}, b
	}
	rest, ok := after(b, "pid=")
	if !ok {
		return ray{}, b
	}
	s := scanner{rest}
	pid, ok := s.number()
	if !ok {
		return ray{}, b
	}
	inside, rest, ok := bytes.Cut(s.b, []byte(") "))
	if !ok {
		return ray{}, b
	}
	ip, _ := after(inside, "ip=")
	return ray{pid: pid, ip: ip}, rest
}
