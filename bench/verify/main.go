// Verify measures how fast logs are read and judged, and how much memory that
// takes, beside grep on the same files and in the same run.
//
// The first table reads four kinds of logs on one core. Its speeds are megabytes
// a second of processor time, so that what else the machine does is not in
// them; grep counts lines with the two patterns that people use to see which
// network a job used. The second judges a job of 4,096 ranks with all cores.
//
// Run it from the repository's root: go run ./bench/verify
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
	"runtime"
	"syscall"
	"time"
)

type options struct {
	mb, runs, ranks int
	read, judge     string
}

func main() {
	var o options
	flag.IntVar(&o.mb, "mb", 256, "megabytes of each kind of log")
	flag.IntVar(&o.runs, "runs", 3, "how often to read each; the best counts")
	flag.IntVar(&o.ranks, "ranks", 4096, "ranks of the job that is judged, 8 a node; 0: no job")
	flag.StringVar(&o.read, "read", "", "read this log and do nothing else, as the benchmark's own child")
	flag.StringVar(&o.judge, "judge", "", "judge the logs in this folder, as the benchmark's own child")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options) error {
	switch {
	case o.read != "":
		return read(o.read)
	case o.judge != "":
		return judge(out, o.judge)
	case o.mb < 1 || o.runs < 1 || o.ranks < 0 || o.ranks%gpusPerNode != 0:
		return fmt.Errorf("-mb %d -runs %d -ranks %d: need at least 1, 1 and a multiple of %d", o.mb, o.runs, o.ranks, gpusPerNode)
	}
	dir, err := os.MkdirTemp("", "verify-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := compareReading(ctx, out, dir, o); err != nil {
		return err
	}
	if o.ranks == 0 {
		return nil
	}
	return timeJob(ctx, out, dir, o.ranks)
}

// usage is what one program took.
type usage struct {
	wall, cpu time.Duration
	peak      int64 // bytes of memory that were resident at once
	code      int   // the exit code
}

// compareReading prints the first table.
func compareReading(ctx context.Context, out io.Writer, dir string, o options) error {
	if _, err := fmt.Fprintf(out, "%-34s %9s %9s %9s %7s %9s   (MB/s of processor time, %d MB, best of %d)\n",
		"log", "trainyard", "grep C", "grep UTF8", "ratio", "peak MB", o.mb, o.runs); err != nil {
		return err
	}
	path := filepath.Join(dir, "input.log")
	defer os.Remove(path)
	for _, kind := range kinds {
		size, err := generate(path, kind, int64(o.mb)<<20)
		if err != nil {
			return err
		}
		ours, greps, err := readers(ctx, path, o.runs)
		if err != nil {
			return err
		}
		ratio := float64(min(greps[0].cpu, greps[1].cpu)) / float64(ours.cpu)
		if _, err := fmt.Fprintf(out, "%-34s %9.0f %9.0f %9.0f %6.1fx %9.1f\n", kind.name,
			speed(size, ours), speed(size, greps[0]), speed(size, greps[1]), ratio, mega(ours.peak)); err != nil {
			return err
		}
	}
	return nil
}

// readers reads a log with the parser on one core, and with grep in the C locale
// and in UTF-8.
func readers(ctx context.Context, path string, runs int) (ours usage, greps [2]usage, err error) {
	self, err := os.Executable()
	if err != nil {
		return ours, greps, err
	}
	if ours, err = best(ctx, runs, "GOMAXPROCS=1", self, "-read", path); err != nil {
		return ours, greps, err
	}
	for i, locale := range []string{"LC_ALL=C", "LC_ALL=C.UTF-8"} {
		if greps[i], err = best(ctx, runs, locale, "grep", grepArgs(path)...); err != nil {
			break
		}
	}
	return ours, greps, err
}

func grepArgs(path string) []string {
	return []string{"-E", "-c", "-e", "NET/(Socket|Libfabric|IB)", "-e", "Using network", path}
}

func speed(size int64, u usage) float64 { return mega(size) / u.cpu.Seconds() }

func mega(n int64) float64 { return float64(n) / 1e6 }

// best returns the run that took the least processor time.
func best(ctx context.Context, runs int, env, name string, args ...string) (usage, error) {
	var least usage
	for i := range runs {
		u, err := measure(ctx, io.Discard, env, name, args...)
		if err == nil && u.code > 1 { // grep says 1 where nothing matches
			err = fmt.Errorf("running %q: exit code %d", name, u.code)
		}
		if err != nil {
			return u, err
		}
		if i == 0 || u.cpu < least.cpu {
			least = u
		}
	}
	return least, nil
}

// measure runs a program to its end.
func measure(ctx context.Context, out io.Writer, env, name string, args ...string) (usage, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	began := time.Now()
	err := cmd.Run()
	u := usage{wall: time.Since(began)}
	state := cmd.ProcessState
	if state == nil || !state.Exited() {
		return u, fmt.Errorf("running %q: %w", cmd.Args, err)
	}
	u.cpu, u.code = state.UserTime()+state.SystemTime(), state.ExitCode()
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.peak = r.Maxrss << 10
		if runtime.GOOS == "darwin" { // counts bytes
			u.peak = r.Maxrss
		}
	}
	return u, nil
}

// timeJob prints how long a large job takes: by the library alone, and by the
// command.
func timeJob(ctx context.Context, out io.Writer, dir string, ranks int) error {
	logs := filepath.Join(dir, "job")
	began := time.Now()
	size, err := generateJob(logs, ranks)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "\n%d ranks, %d NICs a node, %.0f MB in %d files (written in %.1fs), %d cores\n",
		ranks, gpusPerNode, mega(size), ranks, time.Since(began).Seconds(), runtime.NumCPU()); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	binary := filepath.Join(dir, "trainyard")
	if output, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/trainyard").CombinedOutput(); err != nil {
		return fmt.Errorf("building trainyard: %w\n%s", err, output)
	}
	for _, p := range []struct {
		name string
		argv []string
	}{
		{"nccllog and fabric", []string{self, "-judge", logs}},
		{"trainyard verify", []string{binary, "verify", "--expect", "efa", "-o", "json", logs}},
	} {
		answer := &head{}
		u, err := measure(ctx, answer, "LC_ALL=C", p.argv[0], p.argv[1:]...)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%-20s %6.1fs  %6.0f MB/s  peak %5.0f MB   exit code %d  %s\n", p.name, u.wall.Seconds(),
			mega(size)/u.wall.Seconds(), mega(u.peak), u.code, answer.verdict()); err != nil {
			return err
		}
	}
	return nil
}
