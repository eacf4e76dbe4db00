package nccllog

import "bytes"

// line takes one physical line. Its parts between carriage returns are read as
// lines of their own: progress bars overwrite themselves with them.
func (p *Parser) line(b []byte) {
	long := len(b) > MaxLine
	if long {
		b = b[:MaxLine]
	}
	if !bytes.Contains(b, needle) {
		return
	}
	if long {
		p.count(&p.log.Cut, b)
	}
	if bytes.IndexByte(b, '\r') < 0 {
		p.part(b)
		return
	}
	for len(b) > 0 {
		part, rest, _ := bytes.Cut(b, []byte{'\r'})
		if bytes.Contains(part, needle) {
			p.part(part)
		}
		b = rest
	}
}

// part takes a line without carriage returns and hands on its records: one, or
// several where the output of processes ran together.
func (p *Parser) part(b []byte) {
	b = p.plain(b)
	b, repeated := cutRepeated(b)
	from, level := marker(b)
	if from < 0 {
		p.banner(b)
		p.plainLine(b)
		return
	}
	if repeated {
		p.count(&p.log.Repeated, b)
	}
	for from >= 0 {
		msg := b[from+markerLen:]
		next, nextLevel := marker(msg)
		end := len(msg)
		if next >= 0 {
			end = next
			if pre, ok := parsePrefix(msg[:next]); ok {
				end = pre.start
			}
		}
		p.record(b[:from], level, bytes.TrimSpace(msg[:end]))
		b, from, level = msg[end:], next-end, nextLevel
		if next < 0 {
			return
		}
	}
}

// record takes one message of one process.
func (p *Parser) record(left []byte, level level, msg []byte) {
	ps, tid := p.process(left)
	switch level {
	case info:
		p.log.Info++
	case warn:
		p.log.Warn++
	default:
		return
	}
	if ps == nil || len(msg) == 0 {
		return
	}
	r := record{line: p.log.Lines, level: level, msg: msg, thread: ps.thread(tid)}
	if level == info {
		ps.Info++
	} else {
		ps.Warn++
	}
	p.message(ps, r)
}

// record is one message and where it stands.
type record struct {
	line   int64
	level  level
	msg    []byte
	thread *thread
}

func (r record) fact() Fact {
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

// plain removes terminal escape sequences and NUL bytes. The result is valid
// until the next call.
func (p *Parser) plain(b []byte) []byte {
	if bytes.IndexByte(b, 0x1b) < 0 && bytes.IndexByte(b, 0) < 0 {
		return b
	}
	out := p.scratch[:0]
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case 0:
		case 0x1b:
			i = skipEscape(b, i)
		default:
			out = append(out, b[i])
		}
	}
	p.scratch = out
	return out
}

// skipEscape returns the index of the last byte of the sequence at i: CSI up to
// its final byte, and two bytes for any other.
func skipEscape(b []byte, i int) int {
	if i+1 >= len(b) || b[i+1] != '[' {
		return min(i+1, len(b)-1)
	}
	for i += 2; i < len(b); i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e {
			return i
		}
	}
	return len(b) - 1
}

// cutRepeated removes Ray's note that a line stands for several.
func cutRepeated(b []byte) ([]byte, bool) {
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

// banner takes the version line that has no prefix.
func (p *Parser) banner(b []byte) {
	_, b = cutRay(b)
	v, ok := parseVersion(bytes.TrimSpace(b))
	if ok && !p.log.Banner.Seen() {
		v.Fact = Fact{Line: p.log.Lines, Text: shorten(b)}
		p.log.Banner = v
	}
}
