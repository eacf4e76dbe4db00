package nccllog

import "bytes"

// needles are the words of which one is in every line that can matter; what
// lies between is skipped without looking at lines. Each begins with a byte that
// is rare in other text, so that a search is one quick pass.
var needles = [...]string{
	"NCCL",               // NCCL's own lines, and PyTorch's about it
	"<warn>",             // libfabric's lines
	`\u003cwarn`,         // the same in JSON
	"&lt;warn",           // the same in HTML
	"# nThread ",         // a table of nccl-tests begins
	"# Collective test ", // the line that names it
	"+hip",               // the version in RCCL's banner
}

// finder looks for needles from left to right in one block of text.
type finder struct {
	b []byte
	// nccl and other are the next places of the first needle and of any other,
	// next of each other one; len(b) where there is none.
	nccl, other int
	next        [len(needles)]int
	clean       answer
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

// alone tells whether a marker is at the place and no other one, nor any other
// needle, before end.
func (f *finder) alone(at, end int) bool {
	if at != f.nccl || f.other < end || !isMarker(f.b[at:end]) {
		return false
	}
	for f.nccl = at + markerLen - len(needles[0]); f.nccl < end; {
		f.nccl = indexNCCL(f.b, f.nccl+len(needles[0]))
		if f.nccl < end && isMarker(f.b[f.nccl:end]) {
			return false
		}
	}
	return true
}

func (f *finder) findOther(from int) {
	f.other = len(f.b)
	for i := 1; i < len(needles); i++ {
		if f.next[i] < from {
			f.next[i] = index(f.b, needles[i], from)
		}
		f.other = min(f.other, f.next[i])
	}
}

// indexNCCL is index for the first needle; the compiler knows its length.
func indexNCCL(b []byte, from int) int {
	for {
		i := bytes.IndexByte(b[from:], 'N')
		if i < 0 {
			return len(b)
		}
		from += i
		if hasPrefix(b[from:], "NCCL") {
			return from
		}
		from++
	}
}

// index jumps from one first byte to the next, which costs less than a general
// search where that byte is rare.
func index(b []byte, lit string, from int) int {
	for {
		i := bytes.IndexByte(b[from:], lit[0])
		if i < 0 {
			return len(b)
		}
		from += i
		if hasPrefix(b[from:], lit) {
			return from
		}
		from++
	}
}

// needleIn returns the place of NCCL, or of another needle where there is none,
// or -1.
func needleIn(b []byte) int {
	for _, needle := range needles {
		if at := index(b, needle, 0); at < len(b) {
			return at
		}
	}
	return -1
}

// isClean tells whether the block is free of all that needs a closer look: see
// clean.
func (f *finder) isClean() bool {
	if f.clean == unknown {
		f.clean = no
		if clean(f.b) {
			f.clean = yes
		}
	}
	return f.clean == yes
}

// clean tells whether a text holds no carriage return, quote, entity, backslash
// or, as strings may, escape sequence or NUL byte.
func clean(b []byte) bool {
	for _, c := range [...]byte{'\r', '"', '&', '\\', esc, 0} {
		if bytes.IndexByte(b, c) >= 0 {
			return false
		}
	}
	return true
}
