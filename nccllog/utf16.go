package nccllog

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how a file's bytes stand for text. Its first bytes tell.
type encoding byte

const (
	undecided encoding = iota
	utf8Text           // or any other superset of ASCII
	utf16LE
	utf16BE
)

// decoder turns UTF-16, as PowerShell's redirection writes it, into UTF-8.
type decoder struct {
	enc encoding
	// rest is what is not decoded yet: the first bytes of the file, half a
	// character, or the first half of a surrogate pair.
	rest []byte
	out  []byte
}

// headLen bytes are needed to tell UTF-16 without a byte order mark: every
// second one is zero.
const headLen = 4

// decode returns the text of the next bytes; it is valid until the next call.
// The last bytes of a file are final: they are decoded whatever is missing.
func (d *decoder) decode(b []byte, final bool) []byte {
	if d.enc == utf8Text {
		return b
	}
	if len(d.rest) > 0 || d.enc == undecided {
		d.rest = append(d.rest, b...)
		b = d.rest
	}
	if d.enc == undecided {
		if len(b) < headLen && !final {
			return nil
		}
		var mark int
		d.enc, mark = encodingOf(b)
		b = b[mark:]
	}
	if d.enc == utf8Text {
		d.rest = nil
		return b
	}
	b = d.decode16(b, final)
	d.rest = append(d.rest[:0], b...)
	return d.out
}

func encodingOf(b []byte) (enc encoding, mark int) {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return utf8Text, 3
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return utf16LE, 2
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return utf16BE, 2
	case len(b) < headLen:
		return utf8Text, 0
	case b[0] != 0 && b[1] == 0 && b[2] != 0 && b[3] == 0:
		return utf16LE, 0
	case b[0] == 0 && b[1] != 0 && b[2] == 0 && b[3] != 0:
		return utf16BE, 0
	}
	return utf8Text, 0
}

// decode16 fills out and returns the bytes that it could not use yet.
func (d *decoder) decode16(b []byte, final bool) []byte {
	d.out = d.out[:0]
	for len(b) >= 2 {
		c, n := d.unit(b), 2
		if utf16.IsSurrogate(c) {
			if len(b) < 4 && !final {
				break
			}
			if len(b) >= 4 {
				if pair := utf16.DecodeRune(c, d.unit(b[2:])); pair != utf8.RuneError {
					c, n = pair, 4
				}
			}
		}
		d.out = utf8.AppendRune(d.out, c)
		b = b[n:]
	}
	return b
}

func (d *decoder) unit(b []byte) rune {
	if d.enc == utf16LE {
		return rune(b[0]) | rune(b[1])<<8
	}
	return rune(b[1]) | rune(b[0])<<8
}
