package ui

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Mode is a way to tell a story.
type Mode string

// The modes. Auto is a live view on a terminal, else plain lines.
const (
	Auto  Mode = "auto"
	Plain Mode = "plain"
	JSON  Mode = "json"
	Quiet Mode = "quiet"
)

// ParseMode reads a mode as a person writes it.
func ParseMode(text string) (Mode, error) {
	switch mode := Mode(text); mode {
	case Auto, Plain, JSON, Quiet:
		return mode, nil
	}
	return "", fmt.Errorf("unknown progress %q: it is auto, plain, json or quiet", text)
}

// Streams are the program's standard streams and what is known of them.
type Streams struct {
	Out      io.Writer // results
	Err      io.Writer // the story
	Terminal bool      // Err is a terminal that can rewrite a line
	Color    bool      // Err shows colours
	OutColor bool      // Out shows colours
	Width    func() int
}

// System returns the real streams. env looks up environment variables:
// NO_COLOR and TERM=dumb are respected, CI means plain lines.
// Source: no-color.org.
func System(env func(string) (string, bool)) Streams {
	value := func(name string) string { v, _ := env(name); return v }
	dumb := value("TERM") == "dumb" || value("TERM") == ""
	smart := isTerminal(os.Stderr) && !dumb
	ci := value("CI") != "" && value("CI") != "false"
	return Streams{
		Out: os.Stdout, Err: os.Stderr,
		Terminal: smart && !ci,
		Color:    smart && value("NO_COLOR") == "",
		OutColor: isTerminal(os.Stdout) && !dumb && value("NO_COLOR") == "",
		Width:    func() int { return width(value("COLUMNS")) },
	}
}

func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) } //nolint:gosec // a small number

// width is the terminal's width in columns, 80 where nothing tells.
func width(columns string) int {
	if w, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && w > 0 { //nolint:gosec // a small number
		return w
	}
	if w, err := strconv.Atoi(columns); err == nil && w > 0 {
		return w
	}
	return 80
}

// Teller returns the sink that shows a story in the given mode, and a function
// that ends it and leaves the terminal tidy.
func (s Streams) Teller(mode Mode) (sink Sink, end func()) {
	switch {
	case mode == Quiet:
		return quiet{}, func() {}
	case mode == JSON:
		return &jsonLines{w: s.Err}, func() {}
	case mode == Auto && s.Terminal:
		t := newLive(s)
		return t, t.end
	default:
		return &plain{w: s.Err, paint: Painter(s.Color)}, func() {}
	}
}

type quiet struct{}

func (quiet) Event(Event) {}
