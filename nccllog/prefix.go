package nccllog

import "bytes"

type level byte

const (
	noLevel level = iota
	info
	warn
	other // TRACE and CALL
)

// markerLen is the length of "NCCL INFO "; the levels that matter are all of
// four letters, and TRACE is not read any further.
const markerLen = len("NCCL INFO ")

// marker finds the first "NCCL <LEVEL> ".
func marker(b []byte) (at int, l level) {
	for {
		at = indexNCCL(b, at)
		if at == len(b) {
			return -1, noLevel
		}
		if l := markerLevel(b[at:]); l != noLevel {
			return at, l
		}
		at += len("NCCL")
	}
}

// markerLevel returns the level of the marker that comes next, if one does.
func markerLevel(b []byte) level {
	if len(b) < markerLen {
		return noLevel
	}
	switch string(b[:markerLen]) {
	case "NCCL INFO ":
		return info
	case "NCCL WARN ":
		return warn
	case "NCCL CALL ":
		return other
	}
	if hasPrefix(b, "NCCL TRACE ") {
		return other
	}
	return noLevel
}

// prefix is what stands before the level: host:pid:tid [device].
type prefix struct {
	host     []byte
	pid, tid int
	start    int // where host begins
}

// same tells whether two prefixes are of one thread.
func (pre prefix) same(other prefix) bool {
	return pre.pid == other.pid && pre.tid == other.tid && bytes.Equal(pre.host, other.host)
}

// parsePrefix reads the last host:pid:tid before the level. Anything may come
// before it (time stamps of any form, wrappers), and after it the place in the
// source, which for plugins is a function's whole signature, blanks included.
func parsePrefix(left []byte) (prefix, bool) {
	end, device := cutDevice(left)
	if pre, ok := parseID(left[:end], device); ok {
		return pre, true
	}
	return searchPrefix(left)
}

// cutDevice returns where the text ends that stands before "[0] ".
func cutDevice(b []byte) (end int, device bool) {
	end = trimBlanks(b, len(b))
	i := end - 1
	if i < 0 || b[i] != ']' {
		return end, false
	}
	for i--; i >= 0 && (isDigit(b[i]) || b[i] == '-'); i-- {
	}
	if i < 0 || b[i] != '[' {
		return end, false
	}
	return trimBlanks(b, i), true
}

// trimBlanks returns the length of b[:end] without the blanks at its end.
func trimBlanks(b []byte, end int) int {
	for end > 0 && b[end-1] == ' ' {
		end--
	}
	return end
}

// searchPrefix is the slow way: the last word of the right form that is
// followed by the device in brackets.
func searchPrefix(left []byte) (found prefix, ok bool) {
	for from := 0; ; {
		at := bytes.Index(left[from:], []byte(" ["))
		if at < 0 {
			return found, ok
		}
		from += at
		if isDevice(left[from+1:]) {
			if pre, is := parseID(left[:trimBlanks(left, from)], true); is {
				found, ok = pre, true
			}
		}
		from += len(" [")
	}
}

// isDevice tells whether [0] comes next.
func isDevice(b []byte) bool {
	s := scanner{b}
	if !s.skip("[") {
		return false
	}
	s.skip("-")
	_, ok := s.number()
	return ok && s.skip("]")
}

// parseID reads the host:pid:tid that ends b; where a device follows, the
// thread may be missing. Wrappers may be glued to the host.
func parseID(b []byte, device bool) (pre prefix, ok bool) {
	var last int
	end, ok := cutLastNumber(b, len(b), &last)
	if !ok {
		return pre, false
	}
	hostEnd, ok := cutLastNumber(b, end, &pre.pid)
	if ok {
		pre.tid = last
	} else if hostEnd, pre.pid, ok = end, last, device; !ok {
		return pre, false
	}
	pre.start = hostEnd
	for pre.start > 0 && isHost(b[pre.start-1]) {
		pre.start--
	}
	pre.start += gluedStamp(b, pre.start, hostEnd)
	pre.host = b[pre.start:hostEnd]
	return pre, len(pre.host) > 0 && !isTime(pre.host, b[hostEnd:])
}

// cutLastNumber reads ":digits" before end and returns where it begins.
func cutLastNumber(b []byte, end int, n *int) (start int, ok bool) {
	i, value, unit := end, 0, 1
	for i > 0 && isDigit(b[i-1]) && end-i < 10 {
		i--
		value += int(b[i]-'0') * unit
		unit *= 10
	}
	if i == end || i == 0 || b[i-1] != ':' {
		return 0, false
	}
	*n = value
	return i - 1, true
}

// isHost tells whether a byte may be in a host's name.
func isHost(c byte) bool {
	return c >= 'a' && c <= 'z' || isDigit(c) || c == '-' || c == '.' || c == '_' || c >= 'A' && c <= 'Z'
}

// gluedStamp returns the length of the rest of a time stamp that runs into the
// host: 2025-05-16T16:39:55.218Zhost.
func gluedStamp(b []byte, start, end int) int {
	if start == 0 || b[start-1] != ':' && b[start-1] != ',' {
		return 0
	}
	word := bytes.LastIndexByte(b[:start], ' ') + 1
	if n := word + skipStamp(b[word:end]); n > start {
		return n - start
	}
	// The blank between date and time ends the word.
	if word > len("2006-01-02") {
		word -= len("2006-01-02 ")
		if n := word + skipStamp(b[word:end]); n > start {
			return n - start
		}
	}
	return 0
}

// isTime tells whether host and what follows it are a time of day, as stands
// before records without a host.
func isTime(host, rest []byte) bool {
	n := len(host)
	if n < 2 || !isDigit(host[n-2]) || !isDigit(host[n-1]) || n > 2 && host[n-3] != 'T' {
		return false
	}
	for len(rest) >= 3 && rest[0] == ':' && isDigit(rest[1]) && isDigit(rest[2]) {
		rest = rest[3:]
	}
	return len(rest) == 0
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
	head := b[:min(len(b), maxWrapper)]
	rest, ok := after(head, "pid=")
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
	return ray{pid: pid, ip: ip}, b[len(head)-len(rest):]
}
