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
	case StepBegan:
		p.update = e.Time
	case StepUpdate: // long work shows that it lives
		if e.Time.Sub(p.update) < 2*progressEvery {
			return
		}
		p.update = e.Time
		p.line(stepLine(p.paint, Faint, e.Step, e.Text+" …", ""))
	default:
		if text, ok := textOf(e, p.paint); ok {
			p.line(text)
		}
	}
}

// line writes one line. There is nobody to tell where standard error is gone.
func (p *plain) line(text string) { _, _ = fmt.Fprintln(p.w, text) }

// jsonLines writes every event as one JSON object a line.
type jsonLines struct{ w io.Writer }

func (j *jsonLines) Event(e Event) {
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
	drawn  bool
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
			l.mu.Lock()
			l.frame++
			l.redraw("")
			l.mu.Unlock()
		}
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
	case StepDone, StepFailed:
		l.step = ""
		if e.Step == JobStep && e.Kind == StepDone {
			l.quiet = e.Time
		}
	case JobProgress:
		l.bottom = e.Progress.String()
	case RunFinished:
		l.bottom, l.quiet = "", time.Time{}
	case JobOutput:
		l.quiet = e.Time
	case Note, Warning:
	}
	line, ok := textOf(e, l.paint)
	if ok {
		line += "\n"
	}
	l.redraw(line)
}

// redraw replaces the bottom line, with finished text above it.
func (l *live) redraw(above string) {
	var b strings.Builder
	if l.drawn {
		b.WriteString("\r\x1b[K")
	}
	b.WriteString(above)
	bottom := l.bottomLine()
	b.WriteString(bottom)
	if b.Len() > 0 {
		_, _ = io.WriteString(l.s.Err, b.String())
	}
	l.drawn = bottom != ""
}

func (l *live) bottomLine() string {
	spinner := string(frames[l.frame%len(frames)])
	limit := l.s.Width() - 1
	switch {
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
	if l.drawn {
		_, _ = io.WriteString(l.s.Err, "\r\x1b[K")
	}
}
