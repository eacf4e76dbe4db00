// Package fault attaches to an error what the top of the program needs to
// report it: an exit code, and a hint that says what to do next. Packages
// below the command line return plain wrapped errors and use this package only
// where they know more than their caller.
package fault

import (
	"context"
	"errors"
)

// Code is a process exit code. The codes are a public contract, documented in
// docs/exit-codes.md.
type Code int

// The exit codes of every trainyard command.
const (
	Done        Code = 0   // done, or the fabric check says PASS
	Error       Code = 1   // something went wrong
	Usage       Code = 2   // wrong flags or a wrong run file
	JobFailed   Code = 3   // the job failed or ran out of time
	FabricFail  Code = 4   // the fabric check says FAIL
	Unproven    Code = 5   // the fabric check says UNKNOWN
	NoCapacity  Code = 6   // AWS has no capacity, or the account no quota, for what was asked
	Interrupted Code = 130 // stopped by Ctrl-C or SIGTERM
)

type coded struct {
	error
	code Code
}

func (e *coded) Unwrap() error { return e.error }

type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// WithCode returns err with an exit code; nil stays nil.
func WithCode(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &coded{err, code}
}

// WithHint returns err with advice for the person who sees it: a whole
// sentence or a command to type next. nil stays nil.
func WithHint(hint string, err error) error {
	if err == nil {
		return nil
	}
	return &hinted{err, hint}
}

type told struct{ error }

func (e *told) Unwrap() error { return e.error }

// Told returns err marked as known to the person already: what the command has
// printed says all that it would. nil stays nil.
func Told(err error) error {
	if err == nil {
		return nil
	}
	return &told{err}
}

// IsTold tells whether err need not be printed.
func IsTold(err error) bool {
	var t *told
	return errors.As(err, &t)
}

// CodeOf returns the outermost exit code attached to err: Done for nil,
// Interrupted where err is a cancelled context, Error where nothing is known.
func CodeOf(err error) Code {
	var c *coded
	switch {
	case err == nil:
		return Done
	case errors.As(err, &c):
		return c.code
	case errors.Is(err, context.Canceled):
		return Interrupted
	default:
		return Error
	}
}

// HintsOf returns the hints attached anywhere in err, outermost first, each
// once. Errors joined by errors.Join are searched in their order.
func HintsOf(err error) []string {
	var hints []string
	seen := map[string]bool{}
	var walk func(error)
	walk = func(err error) {
		if h, ok := err.(*hinted); ok && !seen[h.hint] { //nolint:errorlint // every layer is visited
			seen[h.hint] = true
			hints = append(hints, h.hint)
		}
		switch e := err.(type) { //nolint:errorlint // every layer is visited
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				walk(inner)
			}
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				walk(inner)
			}
		}
	}
	if err != nil {
		walk(err)
	}
	return hints
}
