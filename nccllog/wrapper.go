package nccllog

import "bytes"

// Wrappers are what other programs print before a line: time stamps, and where
// the line came from. Those that tell processes apart make its origin.
const (
	byRay    = iota // the address in Ray's prefix, - where it has none
	byPod           // kubectl --prefix, or a log shipper's JSON
	byRank          // mpirun --tag-output
	byTask          // srun --label, hydra
	byLocal         // torchrun, [default3]:
	byTorch         // PyTorch, [rank3]:
	byHost          // pdsh
	byDevice        // the device, of records without a host
	originKinds
)

// origin holds a value of each kind, empty where the line has no such wrapper.
type origin [originKinds][]byte

// wrapper is one wrapper: its length and, where it tells processes apart, kind
// and value.
type wrapper struct {
	size  int
	kind  int
	value []byte
}

const (
	noKind = -1
	// maxWrapper is how many bytes all wrappers of a line have at most.
	maxWrapper = 256
)

// peel takes the wrappers off the front of a line.
func peel(b []byte) []byte {
	for {
		w, ok := frontWrapper(b)
		if !ok {
			return b
		}
		b = b[w.size:]
	}
}

// originOf reads the wrappers before a host, where other words may stand
// between them.
func originOf(b []byte) (o origin) {
	b = b[max(0, len(b)-maxWrapper):]
	if w, ok := hostWrapper(bytes.TrimLeft(b, " ")); ok {
		o[byHost] = w.value
	}
	for len(b) > 0 {
		w, ok := frontWrapper(b)
		if !ok {
			end := bytes.IndexByte(b, ' ')
			if end < 0 {
				return o
			}
			b = b[end+1:]
			continue
		}
		if w.kind == byRay && len(o[byRay]) > 0 && string(w.value) == "-" {
			w.kind = noKind // of two, the one with an address
		}
		if w.kind != noKind {
			o[w.kind] = w.value
		}
		b = b[w.size:]
	}
	return o
}

// frontWrapper reads the wrapper that comes next, with the blanks around it.
func frontWrapper(b []byte) (wrapper, bool) {
	if len(b) == 0 {
		return wrapper{}, false
	}
	w := wrapper{kind: noKind}
	switch c := b[0]; {
	case c == '|':
		w.size = 1
	case c == ' ' || c == '\t':
		return afterBlanks(b)
	case c == '(':
		w = rayWrapper(b)
	case c == '[':
		w = squareWrapper(b)
	case c == '#':
		if hasPrefix(b, "# MAGIC ") {
			w.size = len("# MAGIC ")
		}
	case isDigit(c):
		w = digitWrapper(b)
	case c == 0xef:
		if hasPrefix(b, "\ufeff") {
			w.size = len("\ufeff")
		}
	}
	return w, w.size > 0
}

// afterBlanks reads a wrapper behind blanks. Blanks alone are none: they may
// mean something to whoever prints tables.
func afterBlanks(b []byte) (wrapper, bool) {
	rest := bytes.TrimLeft(b, " \t")
	w, ok := frontWrapper(rest)
	w.size += len(b) - len(rest)
	return w, ok
}

// rayWrapper reads (name pid=7) or (name pid=7, ip=10.0.0.7); the name may hold
// parentheses.
func rayWrapper(b []byte) wrapper {
	r, rest := cutRay(b)
	if len(rest) == len(b) {
		return wrapper{}
	}
	w := wrapper{size: len(b) - len(rest), kind: byRay, value: r.ip}
	if len(r.ip) == 0 {
		w.value = []byte("-")
	}
	return w
}

// squareWrapper reads [pod/name/container], [1,30]<stdout>:, [default3]:,
// [rank3]:, [155] before a host, and time stamps in brackets.
func squareWrapper(b []byte) wrapper {
	end := bytes.IndexByte(b[:min(len(b), maxWrapper)], ']')
	if end < 0 {
		return wrapper{}
	}
	in, rest := b[1:end], b[end+1:]
	w := wrapper{size: end + 1, kind: noKind}
	s := scanner{in}
	switch {
	case s.skip("pod/"):
		w.kind, w.value = byPod, s.b
		return w
	case s.skip("default") && hasPrefix(rest, ":"):
		return wrapper{size: end + 2, kind: byLocal, value: in}
	case s.skip("rank") && hasPrefix(rest, ":"):
		return wrapper{size: end + 2, kind: byTorch, value: in}
	case skipStamp(in) == len(in):
		return w
	}
	if _, ok := s.number(); !ok {
		return wrapper{}
	}
	switch {
	case s.skip(",") && hasPrefix(rest, "<std"):
		if stream := bytes.IndexByte(rest, '>'); stream >= 0 && hasPrefix(rest[stream:], ">:") {
			w.kind, w.value = byRank, in
			w.size += stream + len(">:")
			return w
		}
	case len(s.b) == 0 && isHostWord(bytes.TrimLeft(rest, " ")):
		w.kind, w.value = byTask, in
		return w
	}
	return wrapper{}
}

// isHostWord tells whether host: comes next.
func isHostWord(b []byte) bool {
	n := 0
	for n < len(b) && isHost(b[n]) {
		n++
	}
	return n > 0 && n < len(b) && b[n] == ':'
}

// digitWrapper reads time stamps, 3: and 10.0.0.7: before a line.
func digitWrapper(b []byte) wrapper {
	if n := skipStamp(b); n > 0 {
		return wrapper{size: n, kind: noKind}
	}
	n := 0
	for n < len(b) && (isDigit(b[n]) || b[n] == '.') {
		n++
	}
	if !hasPrefix(b[n:], ": ") {
		return wrapper{}
	}
	w := wrapper{size: n + len(": "), kind: byTask, value: b[:n]}
	if bytes.IndexByte(b[:n], '.') >= 0 {
		w.kind = byHost
	}
	return w
}

// hostWrapper reads host: as the first word of a line.
func hostWrapper(b []byte) (wrapper, bool) {
	n := 0
	for n < len(b) && isHost(b[n]) {
		n++
	}
	if n == 0 || isDigit(b[0]) || !hasPrefix(b[n:], ": ") {
		return wrapper{}, false
	}
	switch string(bytes.ToLower(b[:n])) {
	case "debug", "info", "warn", "warning", "error", "critical", "stdout", "stderr":
		return wrapper{}, false
	}
	return wrapper{size: n + len(": "), kind: byHost, value: b[:n]}, true
}

// skipStamp returns the length of the time stamp that b begins with: date and
// time with T or a blank between, fraction and zone if any.
func skipStamp(b []byte) int {
	const form = "dddd-dd-ddTdd:dd:dd"
	if len(b) < len(form) {
		return 0
	}
	for i := range len(form) {
		switch c := form[i]; {
		case c == 'd' && isDigit(b[i]), c == b[i], c == 'T' && b[i] == ' ', c == '-' && b[i] == '/':
		default:
			return 0
		}
	}
	n := len(form)
	if n < len(b) && (b[n] == '.' || b[n] == ',') {
		n++
		for n < len(b) && isDigit(b[n]) {
			n++
		}
	}
	return n + skipZone(b[n:])
}

// skipZone returns the length of Z, +01:00 or -0700.
func skipZone(b []byte) int {
	if hasPrefix(b, "Z") {
		return 1
	}
	if len(b) < 5 || b[0] != '+' && b[0] != '-' || !isDigit(b[1]) || !isDigit(b[2]) {
		return 0
	}
	n := 3
	if b[n] == ':' {
		n++
	}
	if len(b) < n+2 || !isDigit(b[n]) || !isDigit(b[n+1]) {
		return 0
	}
	return n + 2
}

// wrapperStart returns where the wrappers begin that end b.
func wrapperStart(b []byte) int {
	for from := max(0, len(b)-maxWrapper); from < len(b); from++ {
		switch b[from] {
		case '(', '[', '#', ' ':
			if rest := peel(b[from:]); len(bytes.TrimLeft(rest, " ")) == 0 && len(rest) < len(b[from:]) {
				return from + len(b[from:]) - len(bytes.TrimLeft(b[from:], " "))
			}
		}
	}
	return len(b)
}

// deviceStart returns where the device in brackets begins that ends b, as
// records without a host begin.
func deviceStart(b []byte) int {
	t := bytes.TrimRight(b, " ")
	if len(t) == 0 || t[len(t)-1] != ']' {
		return len(b)
	}
	open := bytes.LastIndexByte(t, '[')
	if open < 0 {
		return len(b)
	}
	return open
}
