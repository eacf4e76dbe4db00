package ui

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// PrintError writes an error and its hints to standard error, for a person.
// Several problems joined into one stand on lines of their own.
func (s Streams) PrintError(err error, hints []string) {
	paint := Painter(s.Color)
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		line = Harmless(line)
		if !s.Terminal || strings.HasPrefix(line, " ") { // quoted, or for a program to search in
			lines = append(lines, line)
			continue
		}
		lines = append(lines, Wrap(line, Columns-7)...)
	}
	_, _ = fmt.Fprintln(s.Err, paint(Red, "error")+"  "+strings.Join(lines, "\n       "))
	for _, hint := range hints {
		lines := strings.Join(Wrap(hint, Columns-7), "\n       ")
		_, _ = fmt.Fprintln(s.Err, paint(Faint, "hint")+"   "+lines)
	}
}

// Result is the line that says what came of a run: the outcome, what was
// reached, and where its folder is.
func (s Streams) Result(outcome, text, dir string) string {
	paint := Painter(false) // standard output may be a file
	room := Columns - nameWidth - utf8.RuneCountInString(text)
	if room < utf8.RuneCountInString(dir)+2 {
		return stepLine(paint, "", outcome, text, "") + "\n" + stepLine(paint, "", "run", dir, "")
	}
	return stepLine(paint, "", outcome, text, dir)
}
