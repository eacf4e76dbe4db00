// Noskip is go test for tests that must not be skipped: it passes its arguments
// on to go test, shows what go test would show, and fails where a test was
// skipped, with the reason. Each slow test's time is printed.
//
//	go run ./test/noskip -count=1 ./internal/rayjob
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
)

// slow is the time in seconds from which a passed test is worth a line.
const slow = 1

// event is one line of go test -json; its documentation is that of
// cmd/test2json.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
	Output  string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "noskip:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it still tells what it knows
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	skipped, err := report(pipe, out)
	err = errors.Join(err, cmd.Wait(), ctx.Err())
	if len(skipped) > 0 {
		err = errors.Join(err, fmt.Errorf("%d tests were skipped: %s", len(skipped), strings.Join(skipped, ", ")))
	}
	return err
}

// report prints events as they come and returns the names of skipped tests.
// The output of a test is printed when it did not pass.
func report(events io.Reader, out io.Writer) (skipped []string, err error) {
	output := map[string][]string{}
	show := func(text string) { _, _ = io.WriteString(out, text) }
	scanner := bufio.NewScanner(events)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var e event
		if err := json.Unmarshal(scanner.Bytes(), &e); err != nil {
			show(scanner.Text() + "\n") // of the go command itself
			continue
		}
		name := e.Package + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			if e.Test == "" {
				show(e.Output)
				continue
			}
			output[name] = append(output[name], e.Output)
		case "skip":
			if e.Test != "" { // a package without tests counts as skipped, too
				skipped = append(skipped, e.Test)
			}
			fallthrough
		case "fail":
			show(strings.Join(output[name], ""))
			delete(output, name)
		case "pass":
			delete(output, name)
			if e.Test != "" && e.Elapsed >= slow {
				show(fmt.Sprintf("    %-60s %6.1fs\n", e.Test, e.Elapsed))
			}
		}
	}
	slices.Sort(skipped)
	return skipped, scanner.Err()
}
