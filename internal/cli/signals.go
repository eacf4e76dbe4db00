package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
)

// signals are the ways in which a user ends a command early.
type signals struct {
	soft      context.Context //nolint:containedctx // ends with the first Ctrl-C: stop the job, keep its logs
	hard      context.Context //nolint:containedctx // ends with the second: end everything at once
	hangUp    chan struct{}   // closed on SIGHUP: leave the job running
	interrupt func()          // what the first Ctrl-C does

	byKey    atomic.Bool                        // it was a Ctrl-C, as far as can be told
	question atomic.Pointer[context.CancelFunc] // ends the question that waits for an answer
}

// listen catches signals for the life of the program. A third interrupt kills
// the program the system's way.
func listen() *signals {
	soft, interrupt := context.WithCancel(context.Background())
	hard, cancelHard := context.WithCancel(context.Background())
	s := &signals{soft: soft, hard: hard, hangUp: make(chan struct{}), interrupt: interrupt}
	caught := make(chan os.Signal, 4)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) { // by nohup, say
			signal.Notify(caught, sig)
		}
	}
	// The kernel sends SIGPIPE for every pipe and socket whose reader has gone,
	// a child's standard input too: the failed write says which one it was.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		hungUp, interrupts := false, 0
		for sig := range caught {
			if sig == syscall.SIGHUP {
				if !hungUp {
					hungUp = true
					close(s.hangUp)
				}
				continue
			}
			if unasked := s.question.Swap(nil); unasked != nil {
				(*unasked)()
				continue
			}
			interrupts++
			s.byKey.Store(sig == os.Interrupt)
			interrupt()
			if interrupts > 1 {
				cancelHard()
				signal.Reset(os.Interrupt, syscall.SIGTERM)
			}
		}
	}()
	return s
}

// asking returns a context for a question that is asked after the first Ctrl-C:
// the next one ends that, and nothing else.
func (s *signals) asking(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.question.Store(&cancel)
	return ctx, func() {
		s.question.CompareAndSwap(&cancel, nil)
		cancel()
	}
}

// output is a standard stream. A closed pipe counts as an interrupt: nobody
// reads any longer. Any other failure is kept for the end of the command.
type output struct {
	w         io.Writer
	interrupt func()

	mu  sync.Mutex
	err error // the first failure that is no closed pipe
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	switch {
	case errors.Is(err, syscall.EPIPE):
		o.interrupt()
	case err != nil:
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
