package nccllog

import (
	"bytes"
	"encoding/binary"
)

// stripper removes terminal escape sequences and NUL bytes, which sparse files
// are full of. A line end ends a sequence that has no end of its own.
type stripper struct {
	state escapeState
	out   []byte
}

type escapeState byte

const (
	noEscape   escapeState = iota
	afterESC               // the next byte tells which sequence it is
	inSequence             // up to a final byte
)

const esc = 0x1b

// clean tells whether there is nothing to remove.
func (s *stripper) clean(b []byte) bool {
	return s.state == noEscape && bytes.IndexByte(b, esc) < 0 && bytes.IndexByte(b, 0) < 0
}

// strip returns the bytes that stay; they are valid until the next call.
func (s *stripper) strip(b []byte) []byte {
	out := s.out[:0]
	nextESC, nextNUL := -1, -1
	for i := 0; i < len(b); {
		if s.state != noEscape {
			i += s.escape(b[i:])
			continue
		}
		if nextESC < i {
			nextESC = i + indexByte(b[i:], esc)
		}
		if nextNUL < i {
			nextNUL = i + indexByte(b[i:], 0)
		}
		end := min(nextESC, nextNUL)
		out = append(out, b[i:end]...)
		i = end + zeros(b[end:])
		if i == nextESC && i < len(b) {
			s.state = afterESC
			i++
		}
	}
	s.out = out
	return out
}

// escape goes on with a sequence and returns how many bytes are its own.
func (s *stripper) escape(b []byte) int {
	for i, c := range b {
		switch {
		case c == '\n' || c == '\r':
			s.state = noEscape
			return i
		case s.state == afterESC && c == '[':
			s.state = inSequence
		case s.state == afterESC, c >= 0x40 && c <= 0x7e:
			s.state = noEscape
			return i + 1
		}
	}
	return len(b)
}

// zeros counts the NUL bytes at the beginning.
func zeros(b []byte) int {
	i := 0
	for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:]) == 0 {
		i += 8
	}
	for i < len(b) && b[i] == 0 {
		i++
	}
	return i
}
