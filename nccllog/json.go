package nccllog

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how many strings within strings are opened.
const maxDepth = 3

// scratch holds texts without their escapes, those within a string a level
// deeper than the string itself.
type scratch struct {
	docker []byte
	plain  [maxDepth + 1][]byte
	text   [maxDepth + 1][]byte
}

// quoted is a JSON string in a line, without its quotes.
type quoted struct{ start, end int }

// stringAround finds the JSON string, of any key, that holds the place. A quote
// opens a string where a value may begin.
func stringAround(b []byte, at int) (quoted, bool) {
	start := at
	for {
		start = bytes.LastIndexByte(b[:start], '"')
		if start < 0 {
			return quoted{}, false
		}
		if !escaped(b, start) {
			break
		}
	}
	before := bytes.TrimRight(b[:start], " \t")
	if n := len(before); n > 0 && bytes.IndexByte([]byte(":,[{=("), before[n-1]) < 0 {
		return quoted{}, false
	}
	start++
	return quoted{start, start + endOfString(b[start:])}, true
}

// stringOf finds the string of a line that is a JSON object: what a log shipper
// calls its text.
func stringOf(b []byte) (quoted, bool) {
	if len(b) == 0 || b[0] != '{' {
		return quoted{}, false
	}
	for _, key := range [...]string{`"log":`, `"message":`, `"msg":`} {
		at := bytes.Index(b, []byte(key))
		if at < 0 {
			continue
		}
		at += len(key)
		at += len(b[at:]) - len(bytes.TrimLeft(b[at:], " "))
		if at < len(b) && b[at] == '"' {
			return quoted{at + 1, at + 1 + endOfString(b[at+1:])}, true
		}
	}
	return quoted{}, false
}

// endOfString returns the place of the closing quote, or the end of b.
func endOfString(b []byte) int {
	for from := 0; ; from++ {
		i := bytes.IndexByte(b[from:], '"')
		if i < 0 {
			return len(b)
		}
		from += i
		if !escaped(b, from) {
			return from
		}
	}
}

// escaped tells whether an odd number of backslashes stands before the place.
func escaped(b []byte, at int) bool {
	odd := false
	for at > 0 && b[at-1] == '\\' {
		odd = !odd
		at--
	}
	return odd
}

// appendUnescaped appends a JSON string. What is no escape stays as it is.
func appendUnescaped(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 || i+1 >= len(b) {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		n := 2
		switch c := b[i+1]; c {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case '"', '\\', '/':
			dst = append(dst, c)
		case 'u':
			dst, n = appendRune(dst, b[i:])
		default:
			dst = append(dst, '\\')
			n = 1
		}
		b = b[i+n:]
	}
}

// appendRune appends the character of the \u escape that b begins with, which
// may be two for one, and returns the length of what it used.
func appendRune(dst, b []byte) ([]byte, int) {
	c, ok := unicodeEscape(b)
	if !ok {
		return append(dst, '\\'), 1
	}
	if utf16.IsSurrogate(c) {
		low, _ := unicodeEscape(b[6:])
		if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
			return utf8.AppendRune(dst, pair), 12
		}
	}
	return utf8.AppendRune(dst, c), 6
}

// unicodeEscape reads the escape \u003c.
func unicodeEscape(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var c rune
	for _, d := range b[2:6] {
		digit, ok := hexDigit(lower(d))
		if !ok {
			return 0, false
		}
		c = c<<4 | rune(digit)
	}
	return c, true
}

// findPod remembers the pod that a log shipper names beside the text.
func (p *Parser) findPod(b []byte) {
	for from := 0; ; from++ {
		from = index(b, `_name":`, from)
		if from == len(b) {
			return
		}
		if !bytes.HasSuffix(b[:from], []byte(`"pod`)) {
			continue
		}
		value := bytes.TrimLeft(b[from+len(`_name":`):], " ")
		if len(value) > 0 && value[0] == '"' {
			p.pod = append(p.pod[:0], value[1:1+endOfString(value[1:])]...)
		}
		return
	}
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
