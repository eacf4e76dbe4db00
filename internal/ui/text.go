package ui

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Columns is the width that finished lines are laid out for: what fits a
// terminal of the usual size and a CI log.
const Columns = 80

// nameWidth is the column in which a step's text begins.
const nameWidth = 13

// Painter returns a function that wraps text in an ANSI style, or leaves it.
func Painter(color bool) func(style, text string) string {
	if !color {
		return func(_, text string) string { return text }
	}
	return func(style, text string) string {
		if text == "" {
			return ""
		}
		return "\x1b[" + style + "m" + text + "\x1b[0m"
	}
}

// ANSI styles.
const (
	Bold   = "1"
	Faint  = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// stepLine lays out a finished step: name, text, and the time at the right
// edge where there is room for it.
func stepLine(paint func(style, text string) string, style, name, text, right string) string {
	lines := Wrap(text, Columns-nameWidth)
	last := lines[len(lines)-1]
	line := pad(paint(style, name), nameWidth-utf8.RuneCountInString(name)) +
		strings.Join(lines, "\n"+strings.Repeat(" ", nameWidth))
	if right == "" {
		return strings.TrimRight(line, " ")
	}
	room := Columns - nameWidth - utf8.RuneCountInString(last) - utf8.RuneCountInString(right)
	if room < 2 {
		return line + "\n" + pad("", Columns-utf8.RuneCountInString(right)) + paint(Faint, right)
	}
	return pad(line, room) + paint(Faint, right)
}

// Wrap breaks text at blanks into lines of at most width columns; a longer word
// has a line of its own.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = word
			continue
		}
		if line != "" || len(lines) > 0 && word == "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

func pad(text string, blanks int) string { return text + strings.Repeat(" ", max(blanks, 0)) }

// textOf renders every event that is a line of its own for people; ok is false
// for those that are not.
func textOf(e Event, paint func(style, text string) string) (line string, ok bool) {
	switch e.Kind {
	case StepDone:
		return stepLine(paint, Bold, e.Step, e.Text, Seconds(e.Seconds)), true
	case StepFailed:
		return stepLine(paint, Red, e.Step, "failed", Seconds(e.Seconds)), true
	case Note:
		return stepLine(paint, Faint, "note", e.Text, ""), true
	case Warning:
		return stepLine(paint, Yellow, "warning", e.Text, ""), true
	case JobOutput:
		return outputLine(e, paint), true
	case JobProgress, StepBegan, StepUpdate, StepTable, Question, Answer, RunFinished:
	}
	return "", false
}

// outputLine marks each line of the job with who printed it; the driver's own
// lines stand as they are.
func outputLine(e Event, paint func(style, text string) string) string {
	text := Harmless(e.Text)
	if e.Source == "" || e.Source == "driver" {
		return text
	}
	return paint(Cyan, "["+e.Source+"]") + " " + text
}

// escape matches the ANSI sequences that programs print.
var escape = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\a\x1b]*(\a|\x1b\\)?|.)`)

// Harmless takes out of a job's line what would move the cursor or recolour
// the terminal, and of a line that was rewritten by carriage returns keeps the
// last version, as a terminal would.
func Harmless(text string) string {
	text = strings.TrimRight(text, "\r")
	text = text[strings.LastIndexByte(text, '\r')+1:]
	if strings.ContainsRune(text, '\x1b') {
		text = escape.ReplaceAllString(text, "")
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 { // also those beyond ASCII, CSI among them
			return -1
		}
		return r
	}, text)
}

// String is the progress as one line for people.
func (p Progress) String() string {
	step := fmt.Sprintf("%d/%d", p.Step, p.Steps)
	line := fmt.Sprintf("  step %s  loss %.2f  %s tokens/s", step, p.Loss, Thousands(p.TokensPerSecond))
	if p.MFU > 0 {
		line += fmt.Sprintf("  MFU %.2f", p.MFU)
	}
	if p.SecondsLeft > 0 {
		line += "  " + Duration(time.Duration(p.SecondsLeft*float64(time.Second))) + " left"
	}
	return line
}

// Thousands writes a count with three digits or so: 950, 18.2k, 3.4M.
func Thousands(n float64) string {
	switch {
	case n >= 999_950:
		return fmt.Sprintf("%.1fM", n/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", n/1e3)
	default:
		return fmt.Sprintf("%.0f", n)
	}
}

// Bytes writes a size in the decimal units of disks and networks: 38 kB.
func Bytes(n int64) string {
	switch f := float64(n); {
	case n >= 999_950_000:
		return fmt.Sprintf("%.1f GB", f/1e9)
	case n >= 999_950:
		return fmt.Sprintf("%.1f MB", f/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.0f kB", f/1e3)
	default:
		return fmt.Sprintf("%d B", n)
	}
}

// Seconds writes how long something took: 0.2s, 43.1s, 2m05s.
func Seconds(s float64) string {
	if s < 59.95 {
		return fmt.Sprintf("%.1fs", s)
	}
	return Duration(time.Duration(s * float64(time.Second)))
}

// Duration writes a time in whole seconds, minutes and hours: 12s, 2m05s,
// 3h04m.
func Duration(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	default:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
}

// clip cuts text to a width in columns, escape sequences not counted in: it is
// for text without any.
func clip(text string, width int) string {
	switch {
	case width <= 0:
		return ""
	case utf8.RuneCountInString(text) <= width:
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
