// Startup measures how long the binary takes to answer --help, beside the
// shortest program that Go can build, in turns and in the same run: what the
// machine costs is in both, so their difference is ours.
//
// Run it from the repository's root: go run ./bench/startup
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

const baseline = `package main

func main() { println("usage: hello") }
`

// program is a binary and the wall-clock time of each of its runs.
type program struct {
	name  string
	argv  []string
	times []time.Duration
}

func main() {
	runs := flag.Int("runs", 40, "how often to start each program")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "startup:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, runs int) error {
	if runs < 1 {
		return fmt.Errorf("-runs %d: needs at least 1", runs)
	}
	dir, err := os.MkdirTemp("", "startup-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	programs, err := buildAll(ctx, dir)
	if err != nil {
		return err
	}
	for i := range runs + 1 {
		for _, p := range programs {
			took, err := start(ctx, p.argv)
			if err != nil {
				return err
			}
			if i > 0 { // the first run reads the file from disk
				p.times = append(p.times, took)
			}
		}
	}
	return report(out, programs)
}

func buildAll(ctx context.Context, dir string) ([]*program, error) {
	hello := filepath.Join(dir, "hello")
	source := hello + ".go"
	if err := os.WriteFile(source, []byte(baseline), 0o600); err != nil {
		return nil, err
	}
	ours := filepath.Join(dir, "trainyard")
	if err := build(ctx, hello, source); err != nil {
		return nil, err
	}
	if err := build(ctx, ours, "./cmd/trainyard"); err != nil {
		return nil, err
	}
	return []*program{
		{name: "hello", argv: []string{hello}},
		{name: "trainyard --help", argv: []string{ours, "--help"}},
	}, nil
}

// build compiles as make build does.
func build(ctx context.Context, binary, what string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, what)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %q: %w\n%s", what, err, output)
	}
	return nil
}

// start runs a program once, its output discarded, and returns how long it
// took from before the fork until it was reaped.
func start(ctx context.Context, argv []string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("running %q: %w", argv, err)
	}
	return time.Since(began), nil
}

func report(out io.Writer, programs []*program) error {
	first := median(programs[0].times)
	if _, err := fmt.Fprintf(out, "%-18s %8s %8s %8s %7s   (ms, %d runs)\n",
		"", "min", "median", "max", "ratio", len(programs[0].times)); err != nil {
		return err
	}
	for _, p := range programs {
		mid := median(p.times)
		if _, err := fmt.Fprintf(out, "%-18s %8.2f %8.2f %8.2f %6.1fx\n", p.name,
			ms(slices.Min(p.times)), ms(mid), ms(slices.Max(p.times)), float64(mid)/float64(first)); err != nil {
			return err
		}
	}
	return nil
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
