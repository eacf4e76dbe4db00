package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// measured is what one phase took.
type measured struct {
	outcome
	name      string
	wall, cpu time.Duration
	peak      int64     // bytes of memory that were resident at once
	ready     time.Time // when the last pod was; zero where nobody looked
	began     time.Time
}

// measure runs all phases and prints two tables.
func (l *lab) measure(ctx context.Context, out io.Writer, o options) error {
	if _, err := fmt.Fprintf(out, "%-8s %8s %9s %9s %9s %9s\n", "", "lasts s", "ours s", "peak MB", "requests", ""); err != nil {
		return err
	}
	var all []measured
	for _, p := range phases {
		m, err := l.phase(ctx, p.name, o)
		if err != nil {
			return err
		}
		all = append(all, m)
		if _, err := fmt.Fprintf(out, "%-8s %8.1f %9.2f %9.0f %9d   %s\n", m.name, m.wall.Seconds(), m.cpu.Seconds(), mega(m.peak), m.total(), m.words()); err != nil {
			return err
		}
	}
	return report(out, all)
}

func report(out io.Writer, all []measured) error {
	var cpu time.Duration
	var peak int64
	for _, m := range all {
		cpu, peak = cpu+m.cpu, max(peak, m.peak)
	}
	if _, err := fmt.Fprintf(out, "\nours %.1fs, goal %.0fs: %.2f of it; peak %.0f MB, goal %.0f MB: %.2f of it; %d cores\n\n",
		cpu.Seconds(), goalTime.Seconds(), cpu.Seconds()/goalTime.Seconds(), mega(peak), goalMemory/1e6, float64(peak)/goalMemory, runtime.NumCPU()); err != nil {
		return err
	}
	for _, m := range all {
		for _, what := range slices.Sorted(maps.Keys(m.Requests)) {
			if _, err := fmt.Fprintf(out, "%-8s %5d  %s\n", m.name, m.Requests[what], what); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m measured) total() int {
	n := 0
	for _, count := range m.Requests {
		n += count
	}
	return n
}

func (m measured) words() string {
	if m.ready.IsZero() {
		return m.Said
	}
	return fmt.Sprintf("theirs %.1fs, after %.1fs; %s", m.ready.Sub(m.began).Seconds(), m.Ended.Sub(m.ready).Seconds(), m.Said)
}

// phase runs one as a process of its own.
func (l *lab) phase(ctx context.Context, name string, o options) (measured, error) {
	m := measured{name: name}
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	var ready chan time.Time
	if name == "train" {
		ready = make(chan time.Time, 1)
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			at, err := l.lastReady(watching, o.workers+1)
			l.tell(err)
			ready <- at
		}()
	}
	cmd := exec.CommandContext(ctx, self, "-phase", name, "-namespace", l.cluster.Namespace, "-workers", strconv.Itoa(o.workers))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, os.Stderr
	m.began = time.Now()
	err = cmd.Run()
	m.wall = time.Since(m.began)
	if err != nil {
		return m, fmt.Errorf("running %s: %w", name, err)
	}
	m.cpu, m.peak = spent(cmd.ProcessState)
	if ready != nil {
		m.ready = <-ready
	}
	return m, json.Unmarshal(said.Bytes(), &m.outcome)
}

// spent returns the processor time and the peak of resident memory of a process
// that has ended.
func spent(state *os.ProcessState) (cpu time.Duration, peak int64) {
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		peak = r.Maxrss << 10
		if runtime.GOOS == "darwin" { // counts bytes
			peak = r.Maxrss
		}
	}
	return state.UserTime() + state.SystemTime(), peak
}

func mega(n int64) float64 { return float64(n) / 1e6 }
