package nccllog

import "bytes"

// pending is the beginning of a line whose end has not arrived. Of a line that
// is too long, whole parts are read at once: a progress bar rewrites itself
// with carriage returns for hours.
type pending struct {
	held []byte // at most MaxLine+1 bytes
	open bool   // there is one, even of no bytes kept
	// counted says that the line is in Log.Lines already.
	counted bool
	// skipping says that the current part is too long and has been read; cut
	// that this was counted, or need not be.
	skipping, cut bool
	tail          []byte // the last bytes skipped, where a needle may begin
}

// hold keeps the next bytes of a line.
func (p *Parser) hold(b []byte) {
	l := &p.line
	l.open = l.open || len(b) > 0
	for len(b) > 0 {
		if l.skipping {
			end := bytes.IndexByte(b, '\r')
			if end < 0 {
				p.skip(b)
				return
			}
			p.skip(b[:end])
			b = b[end+1:]
			l.skipping, l.cut, l.tail = false, false, l.tail[:0]
		}
		n := min(len(b), MaxLine+1-len(l.held))
		l.held = append(l.held, b[:n]...)
		b = b[n:]
		if len(l.held) > MaxLine {
			p.spill()
		}
	}
}

// spill reads the parts of a line that is too long.
func (p *Parser) spill() {
	l := &p.line
	p.countLine()
	end := bytes.LastIndexByte(l.held, '\r')
	if end >= 0 {
		p.ifMatters(l.held[:end])
		l.held = append(l.held[:0], l.held[end+1:]...)
		return
	}
	l.cut = needleIn(l.held) >= 0
	if l.cut {
		p.count(&p.log.Cut, l.held)
	}
	p.ifMatters(l.held[:MaxLine])
	l.tail = append(l.tail[:0], l.held[len(l.held)-3:]...)
	l.held, l.skipping = l.held[:0], true
}

// skip drops bytes, and counts the part as cut if NCCL is in them.
func (p *Parser) skip(b []byte) {
	l := &p.line
	if l.cut {
		return
	}
	edge := append(l.tail, b[:min(3, len(b))]...)
	if contains(edge, "NCCL") || contains(b, "NCCL") {
		p.count(&p.log.Cut, nil)
		l.cut = true
	}
	if len(b) >= 3 {
		edge = b
	}
	l.tail = append(l.tail[:0], edge[max(0, len(edge)-3):]...)
}

// ifMatters reads what is held where a whole line would be read.
func (p *Parser) ifMatters(b []byte) {
	if p.log.Lines == 1 || p.matters(b) || needleIn(b) >= 0 {
		p.physical(b)
	}
}

// endLine takes what is held as the end of its line.
func (p *Parser) endLine() {
	l := &p.line
	p.countLine()
	if !l.skipping {
		p.ifMatters(l.held)
	}
	*l = pending{held: l.held[:0], tail: l.tail[:0]}
}

func (p *Parser) countLine() {
	if !p.line.counted {
		p.log.Lines++
		p.line.counted = true
	}
}
