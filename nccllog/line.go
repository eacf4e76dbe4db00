package nccllog

import "bytes"

// follow says that lines matter because of a line before them.
type follow struct {
	// after is how many lines are left after an error that goes on in the next
	// lines, table how many at most belong to a table of nccl-tests.
	after, table int
}

const (
	afterError = 12
	tableLines = 10_000
)

func (f *follow) on() bool { return f.after > 0 || f.table > 0 }

// lines takes a text, which is several lines where it was a string, each of
// which may consist of parts between carriage returns: progress bars overwrite
// themselves with them.
func (p *Parser) lines(b []byte, depth int) {
	if p.simple(b) {
		return
	}
	for line, rest, _ := bytes.Cut(b, []byte{'\n'}); ; line, rest, _ = bytes.Cut(rest, []byte{'\n'}) {
		p.parts(line, depth)
		if len(rest) == 0 {
			return
		}
	}
}

func (p *Parser) parts(b []byte, depth int) {
	if bytes.IndexByte(b, '\r') >= 0 && needleIn(b) < 0 && !p.follow.on() {
		return // it need not be cut
	}
	for part, rest, _ := bytes.Cut(b, []byte{'\r'}); ; part, rest, _ = bytes.Cut(rest, []byte{'\r'}) {
		p.part(part, depth)
		if len(rest) == 0 {
			return
		}
	}
}

// simple takes a text that is one clean line with one record, as most are, and
// tells whether it is.
func (p *Parser) simple(b []byte) bool {
	at, level := marker(b)
	if level == noLevel || !clean(b) {
		return false
	}
	if _, next := marker(b[at+markerLen:]); next != noLevel {
		return false
	}
	p.single(b, at, level)
	return true
}

// part takes a text without line ends. Where a JSON string holds what matters,
// the string is read as a text of its own.
func (p *Parser) part(b []byte, depth int) {
	if needleIn(b) < 0 && !p.follow.on() {
		return
	}
	b = p.plain(b, depth)
	if p.simple(b) {
		return
	}
	if depth == maxDepth {
		p.records(p.entities(b, depth))
		return
	}
	if depth == 0 && hasPrefix(b, "{") {
		p.findPod(b)
	}
	at := needleIn(b)
	q, ok := stringOf(b)
	if at >= 0 {
		q, ok = stringAround(b, at)
	}
	if !ok {
		p.records(p.entities(b, depth))
		return
	}
	for ok {
		p.scratch.text[depth] = appendUnescaped(p.scratch.text[depth][:0], b[q.start:q.end])
		p.lines(p.scratch.text[depth], depth+1)
		b = b[q.end:]
		if at = needleIn(b); at < 0 {
			return
		}
		q, ok = stringAround(b, at)
	}
}

// plain removes the escape sequences and NUL bytes that a string held.
func (p *Parser) plain(b []byte, depth int) []byte {
	s := stripper{out: p.scratch.plain[depth]}
	if s.clean(b) {
		return b
	}
	p.scratch.plain[depth] = s.strip(b)
	return p.scratch.plain[depth]
}

// htmlEntities are those that stand for characters of NCCL's lines.
var htmlEntities = [...]struct {
	name string
	char byte
}{
	{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&#39;", '\''},
}

// entities replaces HTML entities and the escapes of JSON, which exports leave
// in plain text: -&gt; and -\u003e are arrows.
func (p *Parser) entities(b []byte, depth int) []byte {
	if bytes.IndexByte(b, '&') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := p.scratch.text[depth][:0]
	for len(b) > 0 {
		n := 1
		switch b[0] {
		case '&':
			out, n = appendEntity(out, b)
		case '\\':
			out, n = appendASCII(out, b)
		default:
			out = append(out, b[0])
		}
		b = b[n:]
	}
	p.scratch.text[depth] = out
	return out
}

func appendEntity(dst, b []byte) ([]byte, int) {
	for _, e := range htmlEntities {
		if hasPrefix(b, e.name) {
			return append(dst, e.char), len(e.name)
		}
	}
	return append(dst, b[0]), 1
}

func appendASCII(dst, b []byte) ([]byte, int) {
	if c, ok := unicodeEscape(b); ok && c >= ' ' && c < 0x7f {
		return append(dst, byte(c)), 6
	}
	return append(dst, b[0]), 1
}

// single hands on the only record of a clean line, whose marker is at the place.
func (p *Parser) single(b []byte, at int, level level) {
	msg := cell(b[at+markerLen:])
	if endsInBracket(msg) && mayBeRepeated(b) || p.follow.table > 0 {
		p.records(b)
		return
	}
	p.record(b[:at], level, msg)
}

// records hands on the records of a line: one, or several where the output of
// processes ran together.
func (p *Parser) records(b []byte) {
	b, repeated := cutRepeated(b)
	from, level := marker(b)
	if from < 0 {
		p.unmarked(b)
		return
	}
	if repeated {
		p.count(&p.log.Repeated, b)
	}
	if p.follow.table > 0 {
		n := len(b)
		b = p.halfRow(b)
		from -= n - len(b)
	}
	for {
		msg := b[from+markerLen:]
		next, nextLevel := marker(msg)
		if next < 0 {
			p.record(b[:from], level, cell(msg))
			return
		}
		end := p.boundary(b[:from], msg[:next])
		if isGlued(msg[:end]) {
			p.torn(b[:from], msg[:end], msg[end:])
		} else {
			p.record(b[:from], level, cell(msg[:end]))
		}
		b, from, level = msg[end:], next-end, nextLevel
	}
}

// cell takes off the blanks around a message, and the border of a console's table.
func cell(msg []byte) []byte {
	if n := len(msg); n > 0 && isPlain(msg[0]) && isPlain(msg[n-1]) {
		return msg
	}
	msg = bytes.TrimSpace(msg)
	if n := len(msg); n > 1 && msg[n-1] == '|' && msg[n-2] == ' ' {
		msg = bytes.TrimRight(msg, " |")
	}
	return msg
}

// isPlain tells whether a byte can be neither of a blank nor of a border.
func isPlain(c byte) bool { return c > ' ' && c < '|' }

// boundary returns where the next record begins in what lies between two
// markers: at its wrappers, which stand before its host.
func (p *Parser) boundary(left, between []byte) int {
	pre, ok := parsePrefix(between)
	if !ok {
		return deviceStart(between)
	}
	// The first record may end without a blank before the host of the next.
	if mine, ok := parsePrefix(left); ok && mine.pid == pre.pid && bytes.HasSuffix(pre.host, mine.host) {
		return wrapperStart(between[:pre.start+len(pre.host)-len(mine.host)])
	}
	if pre.start > 0 && between[pre.start-1] != ' ' {
		pre.start += p.knownHost(pre)
	}
	return wrapperStart(between[:pre.start])
}

// knownHost returns how many bytes before the host of a known process are not
// of its name.
func (p *Parser) knownHost(pre prefix) int {
	for i := range pre.host {
		if p.procs[procKey{string(pre.host[i:]), pre.pid}] != nil {
			return i
		}
	}
	return 0
}

// isGlued tells whether a message runs into the next record, so that its end
// may be missing.
func isGlued(msg []byte) bool {
	return len(msg) > 0 && msg[len(msg)-1] != ' ' && msg[len(msg)-1] != '\t'
}

// torn takes a record that another one cut off. Consoles print a message twice
// without a blank between: then nothing is lost.
func (p *Parser) torn(left, msg, rest []byte) {
	if from, _ := marker(rest); from >= 0 && bytes.HasPrefix(rest[from+markerLen:], msg) {
		mine, ok := parsePrefix(left)
		next, also := parsePrefix(rest[:from])
		if ok && also && mine.same(next) {
			return
		}
	}
	mine, _ := parsePrefix(left)
	p.unread(string(mine.host), mine.pid, msg)
}

// record takes one message of one process.
func (p *Parser) record(left []byte, level level, msg []byte) {
	if level == other {
		return
	}
	ps, tid := p.process(left)
	p.countLevel(ps, level)
	switch {
	case ps == nil || len(msg) == 0:
	case isHead(msg, "Channel ") || isHead(msg, "Ring "):
		p.unread(ps.Host, ps.PID, msg)
	default:
		p.message(ps, &record{line: p.log.Lines, level: level, msg: msg, thread: ps.thread(tid)})
	}
}

// countLevel counts a record; its process may have been left out.
func (p *Parser) countLevel(ps *process, level level) {
	infos, warnings := int64(1), int64(0)
	if level == warn {
		infos, warnings = 0, 1
	}
	p.log.Info += infos
	p.log.Warn += warnings
	if ps == nil {
		return
	}
	ps.Info += infos
	ps.Warn += warnings
	if ps.First == 0 {
		ps.First = p.log.Lines
	}
	ps.Last = p.log.Lines
}

// isHead tells whether a message is the head of a word, and nothing else.
func isHead(msg []byte, word string) bool {
	return len(msg) < len(word) && string(msg) == word[:len(msg)]
}

// record is one message and where it stands.
type record struct {
	line   int64
	level  level
	msg    []byte
	thread *thread
}

func (r *record) fact() Fact {
	text := shorten(r.msg)
	if r.level == warn {
		text = "NCCL WARN " + text
	}
	return Fact{Line: r.line, Text: text}
}

func (p *Parser) count(t *Tally, line []byte) {
	if t.Count == 0 {
		t.First = Fact{Line: p.log.Lines, Text: shorten(line)}
	}
	t.Count++
}

// unread counts what a process printed and could not be read.
func (p *Parser) unread(host string, pid int, msg []byte) {
	if t := &p.log.Unparsed; t.Count == 0 {
		t.Host, t.PID = host, pid
	}
	p.count(&p.log.Unparsed, msg)
}

// mayBeRepeated tells whether a line ends as Ray's note does: with a bracket, or
// the first time with a parenthesis.
func mayBeRepeated(b []byte) bool {
	return endsInBracket(b[:trimBlanks(b, len(b))]) && index(b, "x across cluster]", 0) < len(b)
}

func endsInBracket(b []byte) bool {
	n := len(b)
	return n > 0 && (b[n-1] == ']' || b[n-1] == ')')
}

// cutRepeated removes Ray's note that a line stands for several.
func cutRepeated(b []byte) ([]byte, bool) {
	if !mayBeRepeated(b) {
		return b, false
	}
	at := bytes.Index(b, []byte("[repeated "))
	if at < 0 {
		return b, false
	}
	s := scanner{b[at+len("[repeated "):]}
	if _, ok := s.number(); !ok || !s.skip("x across cluster]") {
		return b, false
	}
	return bytes.TrimRight(b[:at], " "), true
}

// unmarked takes a line that is not NCCL's own.
func (p *Parser) unmarked(b []byte) {
	if needleIn(b) < 0 && !p.follow.on() {
		return
	}
	b = peel(b)
	p.banner(b)
	p.lostMarker(b)
	switch {
	case p.follow.begins(b), p.follow.after > 0:
		p.plainLine(b)
	case p.follow.table > 0 && isTable(b):
		p.plainLine(b)
	case needleIn(b) >= 0:
		p.plainLine(b)
	}
	p.follow.after = max(0, p.follow.after-1)
	p.follow.table = max(0, p.follow.table-1)
	if contains(b, "Avg bus bandwidth") {
		p.follow.table = 0
	}
}

// begins tells whether a line goes on in the next ones.
func (f *follow) begins(b []byte) bool {
	switch {
	case contains(b, "NCCL error"), contains(b, "Last error"):
		f.after = afterError
	case contains(b, "# nThread "):
		f.table = tableLines
	default:
		return false
	}
	return true
}

// isTable tells whether a line may belong to a table of nccl-tests.
func isTable(b []byte) bool {
	b = bytes.TrimLeft(b, " ")
	return len(b) > 0 && (b[0] == '#' || isDigit(b[0]))
}

// lostMarker counts a record whose line ends within its marker.
func (p *Parser) lostMarker(b []byte) {
	at := bytes.LastIndex(b, []byte("NCCL"))
	if at < 0 {
		return
	}
	end := string(b[at:])
	if len(end) >= markerLen || !hasPrefix([]byte("NCCL INFO "), end) && !hasPrefix([]byte("NCCL WARN "), end) {
		return
	}
	if _, ok := parsePrefix(b[:at]); ok {
		p.count(&p.log.Unparsed, b)
	}
}

// banner takes the version line that has no prefix.
func (p *Parser) banner(b []byte) {
	v, ok := parseVersion(bytes.TrimSpace(b))
	if ok && !p.log.Banner.Seen() {
		v.Fact = Fact{Line: p.log.Lines, Text: shorten(b)}
		p.log.Banner = v
	}
}
