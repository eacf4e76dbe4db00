package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/trainyard/trainyard/internal/fault"
)

// How a user ends the following of a job that runs.
var (
	errDetached    = errors.New("detached") // the job goes on
	errInterrupted = errors.New("interrupted")
)

// watchUser calls end when the user has had enough: the terminal hung up, or
// there was an interrupt, which where leave is set says nothing about the job. It
// returns then, or when ctx ends.
func (f *following) watchUser(ctx context.Context, interrupt <-chan struct{}, leave bool, end func(error)) {
	select {
	case <-ctx.Done():
		return
	case <-f.Detach:
		end(errDetached)
		return
	case <-interrupt:
	}
	switch {
	case leave:
		end(context.Canceled)
	case f.asksDetach(ctx):
		end(errDetached)
	default:
		end(errInterrupted)
	}
}

// asksDetach asks the user whether the job is to go on, if it can without anybody
// here. A terminal that hangs up is an answer.
func (f *following) asksDetach(ctx context.Context) bool {
	if f.AskDetach == nil || f.Hard.Err() != nil || checkDetach(f.run.Info.TimeoutS > 0, f.run.Info.FailFast) != nil {
		return false
	}
	asking, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(f.Hard, end)()
	go func() {
		select {
		case <-f.Detach:
			end()
		case <-asking.Done():
		}
	}()
	if f.AskDetach(asking) {
		return true
	}
	select {
	case <-f.Detach:
		return true
	default:
		return false
	}
}

// checkDetach refuses to leave a job alone that needs somebody to watch it.
func checkDetach(limited, failFast bool) error {
	var what string
	switch {
	case limited:
		what = "a time limit"
	case failFast:
		what = "--fail-fast"
	default:
		return nil
	}
	return fault.WithCode(fault.Usage, fault.WithHint("leave one of the two out",
		fmt.Errorf("detaching with %s: nobody would be there to stop the job", what)))
}
