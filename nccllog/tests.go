package nccllog

import (
	"bytes"
	"math"
	"strconv"
)

// tableLine takes the lines of nccl-tests that begin with #: what is run, the
// ranks, the head of the table, and the result.
// Source: nccl-tests src/util.cu and, before 2.17, src/common.cu.
func (p *Parser) tableLine(b []byte) {
	s := scanner{bytes.TrimLeft(b, "# ")}
	switch {
	case s.skip("nccl-tests version "):
		p.table(b, true)
	case s.skip("Collective test starting: "):
		if t := p.table(b, p.named()); t != nil {
			t.Name = shorten(s.word())
		}
	case s.skip("nThread "), s.skip("Using devices"):
		p.table(b, false)
	case s.skip("Rank "):
		s.blanks()
		if rank, ok := s.number(); ok && contains(b, " device ") {
			if t := p.table(b, false); t != nil {
				t.Ranks = max(t.Ranks, rank+1)
			}
		}
	case s.skip("size ") && contains(s.b, "busbw"):
		p.table(b, false)
	case s.skip("Avg bus bandwidth"):
		if t := p.reading(); t != nil {
			s.b = bytes.TrimLeft(s.b, " :")
			t.AvgBusBW, _ = parseFloat(s.word())
		}
	case s.skip("Collective test concluded: "):
		p.aside.table = 0
	}
}

// reading returns the table that is being read, nil where there is none.
func (p *Parser) reading() *BandwidthTest {
	if p.aside.table == 0 {
		return nil
	}
	return &p.log.Tests[p.aside.table-1]
}

func (p *Parser) named() bool {
	t := p.reading()
	return t != nil && t.Name != ""
}

// table returns the table that is being read. It begins another where the line
// says so or the last one has rows.
func (p *Parser) table(b []byte, another bool) *BandwidthTest {
	if t := p.reading(); t != nil && !another && len(t.Rows) == 0 {
		return t
	}
	p.aside.table = 0
	if len(p.log.Tests) >= maxFacts {
		p.log.Dropped++
		return nil
	}
	p.log.Tests = append(p.log.Tests, BandwidthTest{Fact: Fact{Line: p.log.Lines, Text: shorten(b)}})
	p.aside.table = len(p.log.Tests)
	return p.reading()
}

// tableRow takes a row: size, count and type, the operation and the root where
// the test has them, then time, algbw, busbw and errors out of place and in
// place, each followed by four more figures with per-iteration timing. A time
// stamp may come last.
func (p *Parser) tableRow(b []byte) bool {
	t := p.reading()
	if t == nil {
		return false
	}
	half := p.aside.row
	p.aside.row = halfRow{}
	s := scanner{b}
	row, ok := s.rowHead()
	switch {
	case ok:
		row.Line = p.log.Lines
		half = halfRow{head: row}
	case half.head.Line == 0:
		return false
	default:
		s.b = b
	}
	if !half.finish(s.figures()) {
		return false
	}
	if len(t.Rows) >= maxFacts {
		p.log.Dropped++
		return true
	}
	t.Rows = append(t.Rows, half.head)
	return true
}

// halfRow is a row that NCCL's lines broke off: nccl-tests prints what it is
// about to measure, and connections may be set up only then.
type halfRow struct {
	head    BandwidthRow
	figures []float64
}

// finish takes the rest of the figures.
func (h *halfRow) finish(rest []float64) bool {
	figures := append(h.figures, rest...)
	switch len(figures) {
	case 8, 16:
	case 9, 17: // the root comes first
		figures = figures[1:]
	default:
		return false
	}
	h.head.OutOfPlace = bandwidth(figures)
	h.head.InPlace = bandwidth(figures[len(figures)/2:])
	return true
}

const (
	rowHeadWidth = 12 + 2 + 12 + 2 + 8 + 2 + 6 + 2 + 6 // size to root
	rowHalfWidth = 2 + 7 + 2 + 6 + 2 + 6 + 2 + 6       // time to errors
)

// halfRow takes the half row that stands before a record in the same line: a
// host would begin with its last digit. The result is valid until the next call.
func (p *Parser) halfRow(b []byte) []byte {
	rest := peel(b)
	wrappers := b[:len(b)-len(rest)]
	for _, width := range [...]int{rowHeadWidth, rowHeadWidth + rowHalfWidth} {
		if len(rest) <= width || rest[width] == ' ' || !isDigit(rest[width-1]) {
			continue
		}
		s := scanner{rest[:width]}
		row, ok := s.rowHead()
		figures := s.figures()
		if !ok || len(figures) != 1+(width-rowHeadWidth)/rowHalfWidth*4 || len(s.b) > 0 {
			continue
		}
		row.Line = p.log.Lines
		p.aside.row = halfRow{head: row, figures: figures}
		p.aside.rest = append(append(p.aside.rest[:0], wrappers...), rest[width:]...)
		return p.aside.rest
	}
	return b
}

// rowHead takes size, count and type.
func (s *scanner) rowHead() (row BandwidthRow, ok bool) {
	var good [2]bool
	row.Bytes, good[0] = s.count()
	row.Count, good[1] = s.count()
	kind := s.word()
	return row, good[0] && good[1] && len(kind) > 0 && !isDigit(kind[0]) && kind[0] != '-'
}

// count takes a whole word that is a number.
func (s *scanner) count() (int64, bool) {
	n, err := strconv.ParseInt(string(s.word()), 10, 64)
	return n, err == nil && n >= 0
}

// figures takes numbers up to a time stamp; N/A is not a number but a figure. A
// word before the first one is the operation.
func (s *scanner) figures() []float64 {
	var list []float64
	for len(list) < 18 {
		word := s.word()
		if len(word) == 0 {
			break
		}
		f, ok := parseFloat(word)
		switch {
		case ok:
			list = append(list, f)
		case string(word) == "N/A":
			list = append(list, math.NaN())
		case len(list) > 0:
			return list
		}
	}
	return list
}

func bandwidth(figures []float64) Bandwidth {
	wrong := int64(-1)
	if !math.IsNaN(figures[3]) {
		wrong = int64(min(figures[3], math.MaxInt32))
	}
	return Bandwidth{TimeUS: number(figures[0]), AlgBW: number(figures[1]), BusBW: number(figures[2]), Wrong: wrong}
}

// number is 0 for N/A.
func number(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

func parseFloat(word []byte) (float64, bool) {
	f, err := strconv.ParseFloat(string(word), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}
