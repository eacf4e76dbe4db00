package nccllog

import "bytes"

// aside is what is known of the lines that are not NCCL's own.
type aside struct {
	events map[string]int // by shape, the index into Log.Errors
	table  int            // the one of Log.Tests that rows belong to, from 1
	row    halfRow
	rest   []byte // a line without the half row before it
	torch  int64  // the line of PyTorch's last error
	last   int64  // the line "Last error:", whose text comes next
}

// plainLine takes a line that is not NCCL's own and may matter all the same:
// the tables of nccl-tests, libfabric's warnings, PyTorch's errors and what
// follows them. Wrappers are peeled off; the line's number is p.log.Lines.
func (p *Parser) plainLine(b []byte) {
	_, b = cutRay(b)
	b = bytes.TrimSpace(b)
	switch {
	case len(b) == 0:
	case p.lastError(b):
	case b[0] == '#':
		p.tableLine(b)
	case isDigit(b[0]):
		if !p.tableRow(b) {
			p.foreign(b)
		}
	case hasPrefix(b, "RCCL version"):
		p.banner(b)
	default:
		p.foreign(b)
	}
}

// foreign takes what other programs say of the network.
func (p *Parser) foreign(b []byte) {
	if !p.torchLine(b) {
		p.libfabricLine(b)
	}
}

// note counts an event by its key, or adds it.
func (p *Parser) note(kind EventKind, key, line []byte) {
	if i, seen := p.aside.events[string(key)]; seen {
		p.log.Errors[i].Count++
		return
	}
	if len(p.log.Errors) >= maxFacts {
		return
	}
	if p.aside.events == nil {
		p.aside.events = map[string]int{}
	}
	p.aside.events[string(key)] = len(p.log.Errors)
	p.log.Errors = append(p.log.Errors, Event{Kind: kind, Count: 1, Fact: Fact{Line: p.log.Lines, Text: shorten(line)}})
}

// noteShape counts lines whose text is equal but for numbers as one event,
// whatever stands before the text.
func (p *Parser) noteShape(kind EventKind, line, text []byte) {
	var key [80]byte
	p.note(kind, shapeOf(key[:0], kind, text), line)
}
