package nccllog

import (
	"encoding/binary"
	"math/bits"
)

// flood is an event that a process printed twice or more and may print a
// million times: a peer that is none connects again and again.
type flood struct {
	msg   []byte
	event int // its index in Process.Events
}

// begin remembers an event whose kind depends on nothing but the message.
func (f *flood) begin(kind EventKind, msg []byte, event int) {
	if kind == EventForeignPeer && len(msg) <= MaxText {
		f.msg, f.event = append(f.msg[:0], msg...), event
	}
}

// sameShape tells whether messages differ in numbers only. It is quick where
// they do, and may say no where pointers differ.
func sameShape(a, b []byte) bool {
	for {
		n := commonPrefix(a, b)
		a, b = a[n:], b[n:]
		if len(a) == 0 && len(b) == 0 {
			return true
		}
		restA, restB := skipDigits(a), skipDigits(b)
		if len(restA) == len(a) && len(restB) == len(b) || hasPrefix(restA, "x") || hasPrefix(restB, "x") {
			return false
		}
		a, b = restA, restB
	}
}

// commonPrefix returns how many bytes are equal at the beginning.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if diff := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); diff != 0 {
			return i + bits.TrailingZeros64(diff)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func skipDigits(b []byte) []byte {
	for len(b) > 0 && isDigit(b[0]) {
		b = b[1:]
	}
	return b
}
