package nccllog

import (
	"bytes"
	"io"
)

const (
	// MaxLine is the number of bytes of a line that are looked at.
	MaxLine = 64 << 10
	// MaxText is the number of bytes of a line that are kept for quoting.
	MaxText = 400

	maxProcesses = 1 << 16
	maxEdges     = 1 << 16 // a process
	maxFacts     = 256     // a process and list
)

var (
	_ io.WriteCloser = (*Parser)(nil)

	// needle is in every line that can matter; what lies between is skipped
	// without looking at lines.
	needle = []byte("NCCL")
)

// Parser turns the bytes of one log into a [Log]. Its methods are not safe for
// use by several goroutines at once.
type Parser struct {
	log   Log
	procs map[procKey]*process
	last  *process
	aside aside

	// held is the beginning of a line whose end has not arrived, at most
	// MaxLine+1 bytes of it; open tells that there is one, even of no bytes kept.
	held []byte
	open bool
	// scratch takes lines without their escape sequences.
	scratch []byte
}

// NewParser returns a Parser for the file called source.
func NewParser(source string) *Parser {
	return &Parser{log: Log{Source: source}, procs: map[procKey]*process{}}
}

// Log returns what has been seen so far; a line whose end has not arrived is
// not yet in it. The Parser goes on to fill the same Log: read it before the
// next Write.
func (p *Parser) Log() *Log { return &p.log }

// Write takes the next bytes of the log. It never fails.
func (p *Parser) Write(b []byte) (int, error) {
	n := len(b)
	p.log.Bytes += int64(n)
	if p.open {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			p.hold(b)
			return n, nil
		}
		p.hold(b[:end])
		p.flush()
		b = b[end+1:]
	}
	if end := bytes.LastIndexByte(b, '\n'); end >= 0 {
		p.lines(b[:end+1])
		b = b[end+1:]
	}
	p.hold(b)
	return n, nil
}

// Close takes the last line, which may lack its end. It never fails.
func (p *Parser) Close() error {
	if p.open {
		p.flush()
	}
	return nil
}

// hold keeps the beginning of a line, one byte more than is looked at, so that
// a line that is too long is known as such.
func (p *Parser) hold(b []byte) {
	if len(b) == 0 {
		return
	}
	p.open = true
	p.held = append(p.held, b[:min(len(b), MaxLine+1-len(p.held))]...)
}

func (p *Parser) flush() {
	p.log.Lines++
	p.line(p.held)
	p.held, p.open = p.held[:0], false
}

// lines takes whole lines. It jumps from one needle to the next, so that text
// without NCCL lines costs two passes over memory and nothing a line.
func (p *Parser) lines(b []byte) {
	for len(b) > 0 {
		at := bytes.Index(b, needle)
		if at < 0 {
			p.log.Lines += int64(bytes.Count(b, []byte{'\n'}))
			return
		}
		start := bytes.LastIndexByte(b[:at], '\n') + 1
		end := at + bytes.IndexByte(b[at:], '\n')
		p.log.Lines += int64(bytes.Count(b[:start], []byte{'\n'})) + 1
		p.line(b[start:end])
		b = b[end+1:]
	}
}
