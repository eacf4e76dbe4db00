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
	row, ok := parseRow(b)
	if !ok {
		return false
	}
	if len(t.Rows) >= maxFacts {
		p.log.Dropped++
		return true
	}
	row.Line = p.log.Lines
	t.Rows = append(t.Rows, row)
	return true
}

func parseRow(b []byte) (row BandwidthRow, ok bool) {
	s := scanner{b}
	var good [2]bool
	row.Bytes, good[0] = s.count()
	row.Count, good[1] = s.count()
	if kind := s.word(); !good[0] || !good[1] || len(kind) == 0 || isDigit(kind[0]) {
		return row, false
	}
	figures := s.figures()
	switch len(figures) {
	case 8, 16:
	case 9, 17: // the root comes first
		figures = figures[1:]
	default:
		return row, false
	}
	row.OutOfPlace = bandwidth(figures)
	row.InPlace = bandwidth(figures[len(figures)/2:])
	return row, true
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
