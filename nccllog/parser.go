package nccllog

import (
	"bytes"
	"errors"
	"io"
)

const (
	// MaxLine is the number of bytes of a line that are looked at, counted from
	// its last carriage return.
	MaxLine = 64 << 10
	// MaxText is the number of bytes of a line that are kept for quoting.
	MaxText = 400

	maxProcesses = 1 << 16
	maxNamesakes = 1 << 13 // processes with one host and pid
	maxEdges     = 1 << 16 // a process
	maxFacts     = 256     // a process and list

	// blockSize is how much is looked at in one go: it stays in the processor's
	// cache from one pass to the next.
	blockSize = 16 << 10
)

var (
	_ io.WriteCloser = (*Parser)(nil)

	errClosed = errors.New("writing to a parser that is closed")
)

// Parser turns the bytes of one log into a [Log]. Its methods are not safe for
// use by several goroutines at once.
type Parser struct {
	log    Log
	closed bool

	decoder  decoder
	stripper stripper
	finder   finder
	line     pending
	scratch  scratch
	joins    joins
	follow   follow
	pod      []byte // where JSON around the line names it

	procs  map[procKey]*process
	last   lastOrigin
	recent recent
	// origins are the processes by all that tells them apart.
	origins map[string]*process
	key     []byte
	aside   aside
}

// NewParser returns a Parser for the file called source.
func NewParser(source string) *Parser {
	return &Parser{log: Log{Source: source}, procs: map[procKey]*process{}, origins: map[string]*process{}}
}

// Log returns what has been seen so far; a line whose end has not arrived is
// not yet in it. The Parser goes on to fill the same Log: read it before the
// next Write.
func (p *Parser) Log() *Log { return &p.log }

// Write takes the next bytes of the log. It fails after Close only.
func (p *Parser) Write(b []byte) (int, error) {
	if p.closed {
		return 0, errClosed
	}
	n := len(b)
	p.log.Bytes += int64(n)
	for len(b) > 0 {
		size := blockEnd(b)
		p.raw(p.decoder.decode(b[:size], false))
		b = b[size:]
	}
	return n, nil
}

// blockEnd returns the length of the next block. It ends with a line where it
// can, as lines in two parts are copied.
func blockEnd(b []byte) int {
	if len(b) <= blockSize {
		return len(b)
	}
	if end := bytes.LastIndexByte(b[:blockSize], '\n'); end >= 0 {
		return end + 1
	}
	return blockSize
}

// raw takes the next bytes as UTF-8.
func (p *Parser) raw(b []byte) {
	if !p.stripper.clean(b) {
		b = p.stripper.strip(b)
	}
	p.text(b)
}

// Close takes the last line, which may lack its end, and lets go of all memory
// that the [Log] does not need. It never fails.
func (p *Parser) Close() error {
	if p.closed {
		return nil
	}
	p.raw(p.decoder.decode(nil, true))
	if p.line.open {
		p.endLine()
	}
	p.joinAll()
	*p = Parser{log: p.log, closed: true}
	return nil
}

// text takes the next bytes without escape sequences.
func (p *Parser) text(b []byte) {
	if p.line.open {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			p.hold(b)
			return
		}
		p.hold(b[:end])
		p.endLine()
		b = b[end+1:]
	}
	if end := bytes.LastIndexByte(b, '\n'); end >= 0 {
		p.block(b[:end+1])
		b = b[end+1:]
	}
	p.hold(b)
}

// block takes whole lines. It jumps from one needle to the next, so that other
// text costs a few quick passes over it and nothing a line.
func (p *Parser) block(b []byte) {
	p.finder.reset(b)
	for from := 0; from < len(b); {
		at, end := p.finder.find(from), from+bytes.IndexByte(b[from:], '\n')
		line, every := b[from:end], p.everyLine()
		switch {
		case !every && at > end:
			p.log.Lines += int64(bytes.Count(b[from:at], []byte{'\n'}))
			end = from + bytes.LastIndexByte(b[from:at], '\n')
		case !every:
			p.found(line, at-from, p.finder.alone(at, end))
		case at < end, len(line) > MaxLine, p.matters(line):
			p.whole(line)
		default:
			p.log.Lines++
		}
		from = end + 1
	}
}

// found takes a line with a needle: a marker of the level, if it has no other.
func (p *Parser) found(b []byte, at int, level level) {
	if level == noLevel || len(b) > MaxLine || !p.finder.isBare() && !bare(b) {
		p.whole(b)
		return
	}
	p.log.Lines++
	p.pod = p.pod[:0]
	if isDigit(b[0]) {
		if _, ok := cutCRI(b); ok {
			p.physical(b)
			return
		}
	}
	p.single(b, at, level)
}

// everyLine tells whether the next line may matter though it holds no needle.
func (p *Parser) everyLine() bool {
	return p.log.Lines == 0 || p.follow.on() || p.joins.form != noForm
}

// matters tells whether a line without a needle is to be read.
func (p *Parser) matters(b []byte) bool {
	return p.log.Lines == 0 || p.follow.on() || p.joins.wants(b)
}

// whole takes one line.
func (p *Parser) whole(b []byte) {
	if len(b) > MaxLine {
		p.hold(b)
		p.endLine()
		return
	}
	p.log.Lines++
	p.physical(b)
}
