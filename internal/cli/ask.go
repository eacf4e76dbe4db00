package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) } //nolint:gosec // a small number

// ask asks a question on standard error and tells whether the answer is yes. A
// Ctrl-C is none.
func (a *app) ask(ctx context.Context, question string) (bool, error) {
	_, _ = fmt.Fprint(a.streams.Err, question+" [y/N] ")
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // its end is a no
		answer <- line
	}()
	select {
	case line := <-answer:
		word := strings.ToLower(strings.TrimSpace(line))
		return word == "y" || word == "yes", nil
	case <-ctx.Done():
		_, _ = fmt.Fprintln(a.streams.Err)
		return false, ctx.Err()
	}
}
