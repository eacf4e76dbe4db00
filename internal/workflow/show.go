package workflow

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trainyard/trainyard/internal/evidence"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/ui"
)

// lines reads the job's output for what it means: records of the built-in
// training, announcements of ranks, and text for people.
type lines struct {
	story   *ui.Story
	builtIn bool     // the built-in training: Ray's own remarks are not shown
	metrics *os.File // metrics.jsonl; nil: not kept
	began   func()   // called once, when the job's own code is heard of first

	stopping atomic.Bool // the job was asked to stop

	mu      sync.Mutex
	ranks   rayjob.Ranks
	held    []heldLine            // of training workers whose ranks are not known yet
	release *time.Timer           // passes on what is held
	said    account               // what the built-in training says of itself
	muted   map[string][]heldLine // by file: from a traceback on, see mutes
}

func (l *lines) take(line evidence.Line) {
	if record, ok := evidence.ParseRecord(line.Text); ok {
		l.record(record, line)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ranks.Observe(line.PID, line.Text) {
		l.tellHeld()
		return
	}
	if l.concluded(line) || !l.shown(line) || l.mutes(line) {
		return
	}
	if _, known := l.rankOf(line.Process()); !known && line.Name == trainWorker && len(l.held) < mostHeld {
		l.hold(line)
		return
	}
	l.output(l.sourceOf(line), string(line.Text))
}

// output shows a line. l.mu is held.
func (l *lines) output(source, text string) {
	l.hear()
	l.story.Output(source, text)
}

const (
	// trainWorker is Ray Train's name for the process of a rank, and
	// trainController that of the process that places them.
	trainWorker     = "RayTrainWorker"
	trainController = "TrainController"
	// mostHeld lines wait at most holdTime for their ranks: the announcement is
	// in another process's log, and where reading takes a second, as through the
	// dashboard of a head that is busy, a log is read every ten.
	mostHeld = 1000
	holdTime = 12 * time.Second
)

type heldLine struct {
	evidence.Line
	text string
}

// hold keeps a line until its rank is announced, or for a moment. l.mu is
// held.
func (l *lines) hold(line evidence.Line) {
	l.held = append(l.held, heldLine{line, string(line.Text)})
	if l.release == nil {
		l.release = time.AfterFunc(holdTime, l.flush)
	}
}

// flush passes on what is held, whether or not its ranks are known.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.held {
		l.output(l.sourceOf(line.Line), line.text)
	}
	l.held, l.release = nil, nil
}

// end passes on what is left once the job has ended.
func (l *lines) end() {
	l.flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.said.errors) > 0 {
		return // the tracebacks say the same, and the log files have them
	}
	for _, file := range slices.Sorted(maps.Keys(l.muted)) {
		for _, line := range l.muted[file] {
			l.output(l.sourceOf(line.Line), line.text)
		}
	}
}

// mutes holds back, of the built-in training, what Ray and Python say of an
// error from their first traceback in a file on: the training's own record of
// it, which may be read a moment later, says it once and for all. l.mu is held.
func (l *lines) mutes(line evidence.Line) bool {
	held, muted := l.muted[line.File]
	if !l.builtIn || !muted && !isTraceback(line.Text) {
		return false
	}
	if len(held) < mostHeld {
		held = append(held, heldLine{line, string(line.Text)})
	}
	if l.muted == nil {
		l.muted = map[string][]heldLine{}
	}
	l.muted[line.File] = held
	return true
}

func isTraceback(text []byte) bool {
	return bytes.HasPrefix(text, []byte("Traceback (most recent call last):")) ||
		bytes.HasSuffix(text, []byte("Error in training function:"))
}

// tellHeld passes on the lines whose ranks are known by now. l.mu is held.
func (l *lines) tellHeld() {
	l.held = slices.DeleteFunc(l.held, func(line heldLine) bool {
		_, known := l.rankOf(line.Process())
		if known {
			l.output(l.sourceOf(line.Line), line.text)
		}
		return known
	})
}

// rankOf finds a process's rank. l.mu is held.
func (l *lines) rankOf(p rayjob.Process) (int, bool) {
	if r, ok := l.said.ranks[p]; ok {
		return r.Rank, true
	}
	for _, r := range l.ranks.Current() {
		if r.Process == p {
			return r.World, true
		}
	}
	return 0, false
}

// hear notes that the job's own code runs. l.mu is held.
func (l *lines) hear() {
	if l.began != nil {
		l.began()
		l.began = nil
	}
}

// start is hear for others.
func (l *lines) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hear()
}

// Began tells whether the job's own code has been heard of.
func (l *lines) Began() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.began == nil
}

// Rank is rankOf for others.
func (l *lines) Rank(p rayjob.Process) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rankOf(p)
}

// Attempt numbers the attempt of the job that a process was started for; 0
// where that is not known.
func (l *lines) Attempt(p rayjob.Process) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ranks.Attempt(p)
}

// World is the number of ranks, 0 where not known.
func (l *lines) World() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said.world > 0 {
		return l.said.world
	}
	return len(l.ranks.Current())
}

func (l *lines) sourceOf(line evidence.Line) string {
	if line.Driver() {
		return "driver"
	}
	if rank, ok := l.rankOf(line.Process()); ok {
		return fmt.Sprintf("rank %d", rank)
	}
	name := line.Name
	if name == "" {
		name = "process"
	}
	return fmt.Sprintf("%s %d", name, line.PID)
}

// shown leaves out what Ray says of itself: how it was started and connected,
// what Ray Train's controller says once it has placed the workers, what every
// rank says of the same report, and, for the built-in training, what Ray's own
// actors say at all. The log files have everything.
func (l *lines) shown(line evidence.Line) bool {
	text := line.Text
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return false
	case line.Driver() && (isStartRemark(text) || l.stopping.Load() && isSignalTrace(text)):
		return false
	case bytes.Contains(text, []byte(" NCCL INFO ")):
		return false // evidence, hundreds of lines of it
	case isTrainRemark(text), l.builtIn && line.Driver() && isDeathRemark(text):
		return false
	}
	if line.Name == trainController && (len(l.ranks.Current()) > 0 || isPlacementRemark(text)) {
		return false // it repeats what the workers and the driver say
	}
	rank, isRank := l.rankOf(line.Process())
	if isRank && rank > 0 && isReportRemark(text) {
		return false
	}
	return !l.builtIn || line.Driver() || isRank || line.Name == trainWorker
}
