package rayjob

import (
	"bytes"
	"strings"
)

// magic takes the lines out of a worker's file that Ray puts there for itself,
// ":job_id:", ":actor_name:" and ":task_name:", and remembers what they say.
// Ray writes one whenever the process takes on other work.
type magic struct {
	job  string // internal job id, once known
	name string // the actor's or latest task's name

	offset int64  // of the next byte to come
	inLine bool   // in the middle of a line that is not magic
	held   []byte // the start of a line that may turn out magic
}

const (
	magicJob   = ":job_id:"
	magicActor = ":actor_name:"
	magicTask  = ":task_name:"
	// magicBytes is the longest line that is taken for magic.
	magicBytes = 1 << 10
)

// feed takes the next bytes of the file and gives the text in them to emit,
// piece by piece with its offset in the file.
func (m *magic) feed(data []byte, emit func(offset int64, text []byte)) {
	if len(m.held) > 0 {
		data = append(m.held, data...)
		m.offset -= int64(len(m.held))
		m.held = nil
	}
	start := 0 // of the text that is not emitted yet
	pos := 0
	flush := func() {
		if pos > start {
			emit(m.offset+int64(start), data[start:pos])
		}
	}
	for pos < len(data) {
		end := bytes.IndexByte(data[pos:], '\n') + 1
		whole := end > 0
		if !whole {
			end = len(data) - pos
		}
		line := data[pos : pos+end]
		switch {
		case m.inLine || !mayBeMagic(line):
			m.inLine = !whole
			pos += end
		case whole && m.learn(string(line)):
			flush()
			pos += end
			start = pos
		case whole:
			pos += end
		default:
			flush()
			m.held = bytes.Clone(line)
			pos += end
			start = pos
		}
	}
	flush()
	m.offset += int64(len(data))
}

// end gives up waiting for the rest of a line.
func (m *magic) end(emit func(offset int64, text []byte)) {
	if len(m.held) > 0 {
		emit(m.offset-int64(len(m.held)), m.held)
		m.held = nil
		m.inLine = true
	}
}

// mayBeMagic says whether the line, or the start of one, could be magic.
func mayBeMagic(line []byte) bool {
	if len(line) > magicBytes || line[0] != ':' {
		return false
	}
	for _, prefix := range []string{magicJob, magicActor, magicTask} {
		n := min(len(prefix), len(line))
		if string(line[:n]) == prefix[:n] {
			return true
		}
	}
	return false
}

func (m *magic) learn(line string) bool {
	line = strings.TrimRight(line, "\r\n")
	if job, ok := strings.CutPrefix(line, magicJob); ok {
		m.job = job
		return true
	}
	for _, prefix := range []string{magicActor, magicTask} {
		if name, ok := strings.CutPrefix(line, prefix); ok {
			m.name = name
			return true
		}
	}
	return false
}
