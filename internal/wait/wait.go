// Package wait polls until something holds. It is the one place that loops
// over time: every wait has a context, may have a deadline, and says on
// running out of time what it saw last.
package wait

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// defaultInterval is the pause between two looks where none is given.
const defaultInterval = time.Second

// Options of a wait.
type Options struct {
	Interval time.Duration // pause between two looks; 0 means one second
	Timeout  time.Duration // how long to wait in all; 0 means as long as the context allows
}

// A TimeoutError says that Options.Timeout ran out.
type TimeoutError struct {
	After time.Duration
	State string // what the last look saw; may be empty
}

func (e *TimeoutError) Error() string {
	if e.State == "" {
		return fmt.Sprintf("timed out after %s", e.After)
	}
	return fmt.Sprintf("timed out after %s, last seen: %s", e.After, e.State)
}

// Timeout marks the error as a time-out for those who ask by interface.
func (e *TimeoutError) Timeout() bool { return true }

// For calls look at once and then every Interval until it says that it is
// done, returns an error, or time runs out. look describes what it saw in a
// few words; its context ends with the wait. For returns
//
//   - nil once look is done,
//   - look's error, as it is,
//   - the context's error where ctx ends,
//   - a [*TimeoutError] with the last state where Timeout runs out, be it
//     between two looks or during one.
func For(ctx context.Context, opts Options, look func(context.Context) (done bool, state string, err error)) error {
	interval := opts.Interval
	if interval <= 0 {
		interval = defaultInterval
	}
	timeout := &TimeoutError{After: opts.Timeout}
	inner := ctx
	if opts.Timeout > 0 {
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeoutCause(ctx, opts.Timeout, timeout)
		defer cancel()
	}
	for {
		done, state, err := look(inner)
		if state != "" {
			timeout.State = state
		}
		switch {
		case done && err == nil:
			return nil
		case inner.Err() != nil:
			return ended(ctx, timeout)
		case err != nil:
			return err
		}
		if Sleep(inner, interval) != nil {
			return ended(ctx, timeout)
		}
	}
}

// ended tells the caller's end from our own.
func ended(ctx context.Context, timeout *TimeoutError) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return timeout
}

// Sleep pauses for d, or until ctx ends, and then returns ctx's error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// IsTimeout says whether err is a wait that ran out of time.
func IsTimeout(err error) bool {
	_, ok := errors.AsType[*TimeoutError](err)
	return ok
}
