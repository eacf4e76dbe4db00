package nccllog

import "bytes"

// A needle is a word of which one is in every line that can matter; what lies
// between needles is skipped without looking at lines. Each begins with a byte
// that is rare in other text, so that a search is one quick pass a first byte.
// The first is NCCL: NCCL's own lines, and PyTorch's about it.

// starts are the first bytes of the other needles.
const starts = escapes + `<#+`

// escapes begin what stands for other characters.
const escapes = `\&`

// isNeedle tells whether one of the other needles comes next.
func isNeedle(b []byte) bool {
	switch b[0] {
	case '<': // libfabric's lines
		return hasPrefix(b, "<warn>")
	case '\\': // the same in JSON
		return hasPrefix(b, `\u003cwarn`)
	case '&': // the same in HTML
		return hasPrefix(b, "&lt;warn")
	case '#': // a table of nccl-tests begins, or the line that names it
		return hasPrefix(b, "# nThread ") || hasPrefix(b, "# Collective test ")
	case '+': // the version in RCCL's banner
		return hasPrefix(b, "+hip")
	}
	return false
}

// finder looks for needles from left to right in one block of text.
type finder struct {
	b []byte
	// nccl and other are the next places of the first needle and of any other,
	// next of others by first byte; len(b) where there is none.
	nccl, other int
	next        [len(starts)]int
	bare        answer
}

type answer byte

const (
	unknown answer = iota
	yes
	no
)

// reset begins a block.
func (f *finder) reset(b []byte) {
	*f = finder{b: b, nccl: -1, other: -1}
	for i := range f.next {
		f.next[i] = -1
		if bytes.IndexByte(b, starts[i]) < 0 {
			f.next[i] = len(b)
		} else if i < len(escapes) {
			f.bare = no
		}
	}
}

// find returns the first place of a needle at or after from, len(b) if none.
// The places asked for must not fall.
func (f *finder) find(from int) int {
	if f.nccl < from {
		f.nccl = indexNCCL(f.b, from)
	}
	if f.other < from {
		f.findOther(from)
	}
	return min(f.nccl, f.other)
}

// alone returns the level of the marker at the place: noLevel where there is
// none, or another one or any other needle before end.
func (f *finder) alone(at, end int) level {
	if f.nccl != at || f.other < end {
		return noLevel
	}
	level := markerLevel(f.b[at:end])
	if level == noLevel {
		return noLevel
	}
	for f.nccl = indexNCCL(f.b, at+markerLen); f.nccl < end; f.nccl = indexNCCL(f.b, f.nccl+len("NCCL")) {
		if markerLevel(f.b[f.nccl:end]) != noLevel {
			return noLevel
		}
	}
	return level
}

func (f *finder) findOther(from int) {
	f.other = len(f.b)
	for i := range f.next {
		if f.next[i] < from {
			f.next[i] = indexOther(f.b, starts[i], from)
		}
		f.other = min(f.other, f.next[i])
	}
}

// indexNCCL returns the first place of NCCL at or after from, len(b) if none.
func indexNCCL(b []byte, from int) int {
	for {
		next := bytes.IndexByte(b[from:], 'N')
		if next < 0 {
			return len(b)
		}
		from += next
		if len(b)-from >= len("NCCL") && string(b[from:from+len("NCCL")]) == "NCCL" {
			return from
		}
		from++
	}
}

// indexOther is indexNCCL for the other needles that begin with the byte.
func indexOther(b []byte, start byte, from int) int {
	for {
		from += indexByte(b[from:], start)
		if from == len(b) || isNeedle(b[from:]) {
			return from
		}
		from++
	}
}

// index jumps from one first byte to the next, which costs less than a general
// search where that byte is rare.
func index(b []byte, lit string, from int) int {
	for {
		from += indexByte(b[from:], lit[0])
		if from == len(b) || hasPrefix(b[from:], lit) {
			return from
		}
		from++
	}
}

// indexByte returns the first place of the byte, len(b) if none. It is made so
// that the compiler inlines it.
func indexByte(b []byte, c byte) int {
	i := bytes.IndexByte(b, c)
	if i < 0 {
		i = len(b)
	}
	return i
}

// needleIn returns the place of NCCL, or of another needle where there is none,
// or -1.
func needleIn(b []byte) int {
	if at := indexNCCL(b, 0); at < len(b) {
		return at
	}
	for i := range len(starts) {
		if at := indexOther(b, starts[i], 0); at < len(b) {
			return at
		}
	}
	return -1
}

// isBare tells whether the block is free of all that needs a closer look.
func (f *finder) isBare() bool {
	if f.bare == unknown {
		f.bare = yes // it has no escapes
		if hasAny(f.b, "\r\"") {
			f.bare = no
		}
	}
	return f.bare == yes
}

// bare tells whether a text holds no carriage return, quote, entity or backslash.
func bare(b []byte) bool { return !hasAny(b, "\r\""+escapes) }

// hasAny tells whether one of the characters is in a text.
func hasAny(b []byte, chars string) bool {
	for i := range len(chars) {
		if bytes.IndexByte(b, chars[i]) >= 0 {
			return true
		}
	}
	return false
}

// clean is bare for the text of a string, where line ends, escape sequences and
// NUL bytes may have been escaped. Such texts are short: one look at each byte
// costs less than a quick pass for each character.
func clean(b []byte) bool {
	for _, c := range b {
		if unclean[c] {
			return false
		}
	}
	return true
}

var unclean = [256]bool{'\n': true, '\r': true, '"': true, '&': true, '\\': true, esc: true, 0: true}
