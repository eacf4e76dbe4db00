package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/trainyard/trainyard/internal/ui"
)

func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) } //nolint:gosec // a small number

// canAsk tells whether somebody sees questions and can answer them: to read from
// a terminal in the background would halt the program.
func canAsk() bool {
	if !isTerminal(os.Stdin) || !isTerminal(os.Stderr) {
		return false
	}
	group, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP) //nolint:gosec // a small number
	return err == nil && group == unix.Getpgrp()
}

// ask asks a question on standard error and tells whether the answer is yes. A
// Ctrl-C is none.
func (a *app) ask(ctx context.Context, question string) (bool, error) {
	_, _ = fmt.Fprint(a.streams.Err, question+" [y/N] ")
	select {
	case word := <-a.typed():
		return word == "y" || word == "yes", nil
	case <-ctx.Done():
		_, _ = fmt.Fprintln(a.streams.Err)
		return false, ctx.Err()
	}
}

// askDetach asks, after a Ctrl-C, whether the job is to be left to itself. No
// answer, because nobody is there, because of another Ctrl-C or because ctx ends,
// is none.
func (a *app) askDetach(ctx context.Context, story *ui.Story) bool {
	if !a.signals.byKey.Load() || !canAsk() {
		return false
	}
	ctx, end := a.signals.asking(ctx)
	defer end()
	defer story.Answered()
	words := a.typed()
	for {
		story.Ask("stop the job, or detach and let it go on? [s/d]")
		select {
		case word, ok := <-words:
			switch {
			case word == "d" || word == "detach":
				return true
			case word == "s" || word == "stop" || !ok:
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
}

// typed returns what is typed from now on, line by line, in lower case. One reader
// has to do for all questions: it has taken the next line already.
func typed() <-chan string {
	words := make(chan string)
	go func() {
		defer close(words)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			words <- strings.ToLower(strings.TrimSpace(lines.Text()))
		}
	}()
	return words
}
