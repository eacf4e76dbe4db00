// Package process names, finds and ends operating-system processes that may
// outlive the program that started them.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/process"
	"golang.org/x/sys/unix"
)

// ID names one process for good: a process id alone is reused by the system.
type ID struct {
	PID     int   `json:"pid"`
	Started int64 `json:"started"` // Unix time in milliseconds
}

// startTolerance is how far two readings of one process's start time may lie
// apart: the system keeps it relative to a boot time that clock adjustments
// move.
const startTolerance = 2 * time.Second

// Self is the running program.
func Self() ID {
	id, err := Of(os.Getpid())
	if err != nil { // the process table cannot be read: the pid alone must do
		return ID{PID: os.Getpid()}
	}
	return id
}

// Of looks up a running process by its pid.
func Of(pid int) (ID, error) {
	p, err := process.NewProcess(int32(pid)) //nolint:gosec // pids fit
	if err != nil {
		return ID{}, fmt.Errorf("looking up process %d: %w", pid, err)
	}
	started, err := p.CreateTime()
	if err != nil {
		return ID{}, fmt.Errorf("reading the start time of process %d: %w", pid, err)
	}
	return ID{PID: pid, Started: started}, nil
}

// Alive tells whether this very process still runs: not another one that was
// given its pid, nor one that has ended and waits to be collected.
func (id ID) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	now, err := Of(id.PID)
	if err != nil || !id.same(now) {
		return false
	}
	p, err := process.NewProcess(int32(id.PID)) //nolint:gosec // pids fit
	if err != nil {
		return false
	}
	status, err := p.Status()
	return err != nil || !slices.Contains(status, process.Zombie)
}

func (id ID) same(other ID) bool {
	apart := time.Duration(id.Started-other.Started) * time.Millisecond
	return id.PID == other.PID && apart.Abs() <= startTolerance
}

// Interrupt asks the process to end, as Ctrl-C would.
func (id ID) Interrupt() error {
	if !id.Alive() {
		return nil
	}
	if err := syscall.Kill(id.PID, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("interrupting process %d: %w", id.PID, err)
	}
	return nil
}

// Family says which processes belong together. Each leader began a session of
// its own; its descendants stay in that session, begin another one as its
// children, or carry the mark in their environment.
type Family struct {
	Leaders []ID
	Mark    string // NAME=value
}

// Members lists the processes of the family that run now, without this
// program itself.
func (f Family) Members() ([]ID, error) {
	all, err := process.Processes()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	sessions := f.sessions()
	parent := make(map[int]int, len(all))
	in := make(map[int]bool)
	for _, p := range all {
		pid := int(p.Pid)
		if ppid, err := p.Ppid(); err == nil {
			parent[pid] = int(ppid)
		}
		sid, err := unix.Getsid(pid)
		if (err == nil && sessions[sid]) || f.marked(p) {
			in[pid] = true
		}
	}
	var members []ID
	for _, p := range all {
		pid := int(p.Pid)
		if pid == os.Getpid() || !(in[pid] || hasAncestor(pid, parent, in)) {
			continue
		}
		if id, err := Of(pid); err == nil && id.Alive() {
			members = append(members, id)
		}
	}
	return members, nil
}

// sessions are the leaders' session ids that are still theirs. A session id
// is its leader's pid and stays taken while any member lives, so it is
// another's only where a process with that pid began at another time.
func (f Family) sessions() map[int]bool {
	ids := make(map[int]bool, len(f.Leaders))
	for _, leader := range f.Leaders {
		now, err := Of(leader.PID)
		ids[leader.PID] = err != nil || leader.same(now)
	}
	return ids
}

func (f Family) marked(p *process.Process) bool {
	if f.Mark == "" {
		return false
	}
	environ, err := p.Environ()
	return err == nil && slices.ContainsFunc(environ, func(v string) bool { return strings.TrimRight(v, "\x00") == f.Mark })
}

func hasAncestor(pid int, parent map[int]int, in map[int]bool) bool {
	for range 64 { // a process tree is never so deep; a loop would be a race in the table
		pid = parent[pid]
		if pid <= 1 {
			return false
		}
		if in[pid] {
			return true
		}
	}
	return false
}

// End kills every member and returns when none is left, or an error that
// names those that stayed until ctx ended.
func (f Family) End(ctx context.Context) error {
	for {
		members, err := f.Members()
		if err != nil || len(members) == 0 {
			return err
		}
		for _, m := range members {
			// A process that is gone already is what we want.
			if err := syscall.Kill(m.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("ending process %d: %w", m.PID, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ending %d processes, %d the first of them: %w", len(members), members[0].PID, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
