package nccllog

import "bytes"

// form is how a container runtime writes a log file.
type form byte

const (
	noForm     form = iota
	criForm         // 2025-05-16T16:39:55.218Z stdout F text
	dockerForm      // {"log":"text\n","stream":"stdout","time":"..."}
)

// pieceSize is where container runtimes cut long lines.
const pieceSize = 16 << 10

// joins puts together again the lines that a container runtime cut. Standard
// output and error are cut apart from each other.
type joins struct {
	form form // of the lines seen last
	out  join
	err  join
}

// join is the beginning of a line of which more is to come.
type join struct {
	open bool
	text []byte
}

func (j *joins) stream(err bool) *join {
	if err {
		return &j.err
	}
	return &j.out
}

// wants tells whether a line matters because it is a piece.
func (j *joins) wants(b []byte) bool {
	switch {
	case j.form == noForm:
		return false
	case j.out.open || j.err.open:
		return true
	case j.form == criForm:
		c, ok := cutCRI(b)
		return ok && c.partial
	default:
		return len(b) >= pieceSize
	}
}

// physical takes a line, or a part of a long one, as it is in the file.
func (p *Parser) physical(b []byte) {
	p.pod = p.pod[:0]
	if c, ok := cutCRI(b); ok {
		p.joins.form = criForm
		p.piece(p.joins.stream(c.err), c.text, c.partial)
		return
	}
	if d, ok := cutDocker(b); ok {
		p.joins.form = dockerForm
		p.docker(d)
		return
	}
	p.lines(b, 0)
}

// piece takes the text of a line that may be a piece of a longer one.
func (p *Parser) piece(j *join, text []byte, partial bool) {
	if !j.open && !partial {
		p.lines(text, 0)
		return
	}
	room := MaxLine - len(j.text)
	if room < len(text) {
		if needleIn(text) >= 0 {
			p.count(&p.log.Cut, text)
		}
		text = text[:room]
	}
	j.text = append(j.text, text...)
	j.open = true
	if !partial {
		p.endJoin(j)
	}
}

func (p *Parser) endJoin(j *join) {
	text := j.text
	*j = join{text: text[:0]}
	p.lines(text, 0)
}

// joinAll takes the pieces whose end never came.
func (p *Parser) joinAll() {
	for _, j := range []*join{&p.joins.out, &p.joins.err} {
		if j.open {
			p.endJoin(j)
		}
	}
}

// criLine is a line of a Kubernetes container's log file.
type criLine struct {
	err, partial bool
	text         []byte
}

func cutCRI(b []byte) (c criLine, ok bool) {
	const stamp = len("2006-01-02T15:04:05")
	if len(b) < stamp || b[4] != '-' || b[10] != 'T' || !isDigit(b[0]) {
		return c, false
	}
	end := bytes.IndexByte(b[:min(len(b), 2*stamp)], ' ')
	if end < 0 {
		return c, false
	}
	s := scanner{b[end+1:]}
	c.err = s.skip("stderr ")
	if !c.err && !s.skip("stdout ") {
		return c, false
	}
	c.partial = s.skip("P")
	if !c.partial && !s.skip("F") {
		return c, false
	}
	if len(s.b) > 0 && s.b[0] == ':' { // more tags may follow
		s.word()
	}
	c.text = bytes.TrimPrefix(s.b, []byte{' '})
	return c, len(s.b) == 0 || s.b[0] == ' '
}

// dockerLine is a line of Docker's JSON log file; text is still escaped.
type dockerLine struct {
	err        bool
	text, rest []byte
}

func cutDocker(b []byte) (d dockerLine, ok bool) {
	const open = `{"log":"`
	if !hasPrefix(b, open) {
		return d, false
	}
	b = b[len(open):]
	end := endOfString(b)
	d.text, d.rest = b[:end], b[end:]
	d.err = hasPrefix(d.rest, `","stream":"stderr"`)
	return d, true
}

// docker takes a line of Docker's. A piece is known by its length and by the
// line end that it lacks.
func (p *Parser) docker(d dockerLine) {
	j := p.joins.stream(d.err)
	p.findPod(d.rest)
	text, ended := cutLineEnd(d.text)
	if bytes.IndexByte(text, '\\') >= 0 {
		p.scratch.docker = appendUnescaped(p.scratch.docker[:0], text)
		text = p.scratch.docker
	}
	p.piece(j, text, !ended && len(text) >= pieceSize)
}

// cutLineEnd takes the escaped line end off a JSON string.
func cutLineEnd(b []byte) ([]byte, bool) {
	if !bytes.HasSuffix(b, []byte(`\n`)) {
		return b, false
	}
	text := len(b) - len(`\n`)
	if escaped(b, text) { // \\n is a backslash and an n
		return b, false
	}
	return b[:text], true
}
