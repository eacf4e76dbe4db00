package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progressEvery is how often plain output repeats a progress that keeps
// changing.
const progressEvery = 5 * time.Second

// plain writes one line for each finished step and for each line of the job:
// for pipes, files and CI.
type plain struct {
	w        io.Writer
	paint    func(style, text string) string
	progress time.Time // when one was written last
	update   time.Time
}

func (p *plain) Event(e Event) {
	switch e.Kind {
	case JobProgress:
		last := e.Progress.Step == e.Progress.Steps
		if !last && e.Time.Sub(p.progress) < progressEvery {
			return
		}
		p.progress = e.Time
		p.line(e.Progress.String())
	case Question:
		p.line(e.Text)
	case StepBegan:
		p.update = e.Time
	case StepUpdate: // long work shows that it lives
		p.lives(e, e.Text)
	case StepTable:
		p.lives(e, e.Detail)
	default:
		if text, ok := textOf(e, p.paint); ok {
			p.line(text)
		}
	}
}

func (p *plain) lives(e Event, text string) {
	if e.Time.Sub(p.update) < 2*progressEvery {
		return
	}
	p.update = e.Time
	p.line(stepLine(p.paint, Faint, e.Step, text+" …", ""))
}

// line writes one line. There is nobody to tell where standard error is gone.
func (p *plain) line(text string) { _, _ = fmt.Fprintln(p.w, text) }

// jsonLines writes every event as one JSON object a line.
type jsonLines struct{ w io.Writer }

func (j *jsonLines) Event(e Event) {
	if e.Kind == StepTable { // its lines are for eyes
		e.Kind, e.Text, e.Detail = StepUpdate, e.Detail, ""
	}
	if data, err := json.Marshal(e); err == nil {
		_, _ = j.w.Write(append(data, '\n'))
	}
}

// live keeps one line at the bottom of the terminal up to date, the running
// step or the training's progress, and lets all others scroll above it.
type live struct {
	s     Streams
	paint func(style, text string) string

	mu     sync.Mutex
	step   string
	text   string
	began  time.Time
	bottom string    // progress of the job
	quiet  time.Time // since when a running job has said nothing; zero: none runs
	ask    string    // the question that is to be answered
	table  []string  // lines above the running step's
	drawn  int       // lines at the bottom that are to be rewritten
	frame  int
	stop   chan struct{}
	done   sync.WaitGroup
}

// quietFor is how long a running job may say nothing before the live view shows
// that it still runs.
const quietFor = 3 * time.Second

// frames of the spinner, one every tenth of a second.
var frames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

func newLive(s Streams) *live {
	l := &live{s: s, paint: Painter(s.Color), stop: make(chan struct{})}
	l.done.Go(l.spin)
	return l
}

func (l *live) spin() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.turn()
		}
	}
}

// turn lets the spinner turn, unless somebody types there.
func (l *live) turn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frame++; l.ask == "" {
		l.redraw("")
	}
}

func (l *live) Event(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case StepBegan:
		l.step, l.text, l.began, l.quiet = e.Step, "", e.Time, time.Time{}
	case StepUpdate:
		l.text = e.Text
	case StepTable:
		if l.table, l.text = nil, e.Detail; e.Text != "" {
			l.table = strings.Split(e.Text, "\n")
		}
	case StepDone, StepFailed:
		l.step, l.table = "", nil
		if e.Step == JobStep && e.Kind == StepDone {
			l.quiet = e.Time
		}
	case JobProgress:
		l.bottom = e.Progress.String()
	case RunFinished:
		l.bottom, l.quiet = "", time.Time{}
	case JobOutput:
		l.quiet = e.Time
	case Question, Answer:
		l.ask = e.Text
	case Note, Warning:
	}
	line, ok := textOf(e, l.paint)
	if ok {
		line += "\n"
	}
	l.redraw(line)
}

// redraw replaces the lines at the bottom, with finished text above them.
func (l *live) redraw(above string) {
	var b strings.Builder
	b.WriteString(l.erase())
	b.WriteString(above)
	bottom := l.bottomLine()
	l.drawn = 0
	if bottom != "" {
		for _, line := range l.table {
			b.WriteString(clip(line, l.s.Width()-1) + "\n")
		}
		l.drawn = len(l.table) + 1
	}
	b.WriteString(bottom)
	if b.Len() > 0 {
		_, _ = io.WriteString(l.s.Err, b.String())
	}
}

// erase takes away what was drawn at the bottom, and leaves the cursor there.
func (l *live) erase() string {
	switch l.drawn {
	case 0:
		return ""
	case 1:
		return "\r\x1b[K"
	default:
		return fmt.Sprintf("\x1b[%dA\r\x1b[J", l.drawn-1)
	}
}

func (l *live) bottomLine() string {
	spinner := string(frames[l.frame%len(frames)])
	limit := l.s.Width() - 1
	switch {
	case l.ask != "":
		return clip(l.ask+" ", limit)
	case l.step != "":
		elapsed := Duration(time.Since(l.began))
		text := clip(l.text, limit-nameWidth-len(elapsed)-4)
		return l.paint(Cyan, spinner) + clip(" "+pad(l.step, nameWidth-2-len(l.step))+text+"  ", limit-1-len(elapsed)) + l.paint(Faint, elapsed)
	case l.bottom != "":
		return l.paint(Cyan, spinner) + clip(strings.TrimPrefix(l.bottom, " "), limit-1)
	}
	if quiet := time.Since(l.quiet); !l.quiet.IsZero() && quiet > quietFor {
		return l.paint(Cyan, spinner) + l.paint(Faint, clip(" the job runs, its last line came "+Duration(quiet)+" ago", limit-1))
	}
	return ""
}

func (l *live) end() {
	close(l.stop)
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drawn > 0 {
		_, _ = io.WriteString(l.s.Err, l.erase())
	}
}
