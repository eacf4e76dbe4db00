package nccllog

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf8"
)

// scanner reads a message from left to right without allocating.
type scanner struct{ b []byte }

// skip takes the literal if it comes next.
func (s *scanner) skip(lit string) bool {
	rest, ok := cutPrefix(s.b, lit)
	if ok {
		s.b = rest
	}
	return ok
}

func (s *scanner) blanks() { s.b = skipBlanks(s.b) }

// number takes decimal digits.
func (s *scanner) number() (n int, ok bool) {
	n, s.b, ok = cutNumber(s.b)
	return n, ok
}

// signed takes decimal digits with an optional minus.
func (s *scanner) signed() int {
	negative := s.skip("-")
	n, _ := s.number()
	if negative {
		n = -n
	}
	return n
}

// hex takes hexadecimal digits with an optional 0x.
func (s *scanner) hex() (uint64, bool) {
	b, _ := cutPrefix(s.b, "0x")
	var n uint64
	i := 0
	for ; i < len(b) && i < 17; i++ {
		digit, ok := hexDigit(b[i])
		if !ok {
			break
		}
		n = n<<4 | digit
	}
	s.b = b[i:]
	return n, i > 0 && i < 17
}

// word takes what comes before the next blank.
func (s *scanner) word() []byte {
	b := skipBlanks(s.b)
	end := 0
	for end < len(b) && b[end] != ' ' {
		end++
	}
	s.b = b[end:]
	return b[:end]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' }

func hexDigit(c byte) (uint64, bool) {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0'), true
	case c >= 'a' && c <= 'f':
		return uint64(c-'a') + 10, true
	}
	return 0, false
}

// hasPrefix looks at the first byte first: it sorts out most of the wordings
// that a message is compared with. The literal is not empty.
func hasPrefix(b []byte, lit string) bool {
	return len(b) >= len(lit) && b[0] == lit[0] && string(b[:len(lit)]) == lit
}

// cutPrefix returns what follows the literal, if it comes first.
func cutPrefix(b []byte, lit string) ([]byte, bool) {
	if !hasPrefix(b, lit) {
		return b, false
	}
	return b[len(lit):], true
}

// cutNumber takes decimal digits off the front.
func cutNumber(b []byte) (n int, rest []byte, ok bool) {
	i := 0
	for i < len(b) && isDigit(b[i]) {
		if n > math.MaxInt32 {
			return 0, b, false
		}
		n = n*10 + int(b[i]-'0')
		i++
	}
	return n, b[i:], i > 0
}

func skipBlanks(b []byte) []byte {
	i := 0
	for i < len(b) && b[i] == ' ' {
		i++
	}
	return b[i:]
}

func contains(b []byte, lit string) bool { return bytes.Contains(b, []byte(lit)) }

// after returns what follows the literal, if it is there.
func after(b []byte, lit string) ([]byte, bool) {
	_, rest, ok := bytes.Cut(b, []byte(lit))
	return rest, ok
}

// shorten makes a quotable text of at most MaxText bytes.
func shorten(b []byte) string {
	b = bytes.TrimSpace(b)
	if len(b) > MaxText {
		b = b[:MaxText]
		for len(b) > 0 && !utf8.RuneStart(b[len(b)-1]) {
			b = b[:len(b)-1]
		}
	}
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}
