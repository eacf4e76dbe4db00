package pyenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	killDelay    = 3 * time.Second        // between asking a command to end and ending it
	tickInterval = 500 * time.Millisecond // of command.tick
	tailLines    = 12                     // of stderr, kept for the error
)

// command is one run of another program, in a process group of its own so
// that all of it can be ended, and out of reach of the terminal's Ctrl-C.
type command struct {
	argv  []string
	dir   string
	env   []string
	stdin string
	line  func(string) // sees every line of stderr; may be nil
	tick  func()       // called now and then while the command runs; may be nil
}

// commandError is a command that ended badly, with the end of what it said.
type commandError struct {
	argv []string
	tail []string // the last lines of stderr
	err  error
}

func (e *commandError) Error() string {
	if len(e.tail) == 0 {
		return fmt.Sprintf("running %s: %v", e.argv[0], e.err)
	}
	return fmt.Sprintf("running %s: %v: %s", e.argv[0], e.err, strings.Join(e.tail, "\n"))
}

func (e *commandError) Unwrap() error { return e.err }

// run returns what the command writes to stdout. line and tick are never
// called at the same time. The error is the context's where that has ended.
func (c command) run(ctx context.Context) (string, error) {
	// The kernel sends Linux's parent-death signal when the thread that
	// started the child ends, so that thread is kept until the child has.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	var stdout bytes.Buffer
	watch := &watcher{line: c.line, tick: c.tick}
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.stdin), &stdout, watch
	cmd.SysProcAttr = ownProcessGroup()
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGTERM) }
	cmd.WaitDelay = killDelay

	stop := watch.start()
	err := cmd.Run()
	stop()
	if err == nil {
		return stdout.String(), nil
	}
	if cmd.Process != nil {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // what it started and left
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return "", &commandError{argv: c.argv, tail: watch.tail, err: unwrapExec(err)}
}

// unwrapExec leaves out the program's path, which commandError names already.
func unwrapExec(err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err
	}
	return err
}

// watcher cuts stderr into lines, keeps the last ones, and hands them on.
type watcher struct {
	line func(string)
	tick func()

	mu      sync.Mutex
	partial []byte
	tail    []string
}

// start begins to tick and returns what ends it and hands on an unfinished line.
func (w *watcher) start() (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	if w.tick != nil {
		wg.Go(func() { w.ticks(done) })
	}
	return func() {
		close(done)
		wg.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.partial) > 0 {
			w.emit(w.partial)
			w.partial = nil
		}
	}
}

func (w *watcher) ticks(done <-chan struct{}) {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			w.mu.Lock()
			w.tick()
			w.mu.Unlock()
		}
	}
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.partial = append(w.partial, p...)
	for {
		line, rest, ok := bytes.Cut(w.partial, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		w.emit(line)
		w.partial = rest
	}
}

func (w *watcher) emit(raw []byte) {
	line := strings.TrimRight(string(raw), " \r")
	if line != "" {
		w.tail = append(w.tail, line)
		w.tail = w.tail[max(0, len(w.tail)-tailLines):]
	}
	if w.line != nil {
		w.line(line)
	}
}
