package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signals are the ways in which a user ends a command early.
type signals struct {
	soft   context.Context //nolint:containedctx // ends with the first Ctrl-C: stop the job, keep its logs
	hard   context.Context //nolint:containedctx // ends with the second: end everything at once
	hangUp chan struct{}   // closed on SIGHUP: leave the job running
}

// listen catches signals for the life of the program. A third interrupt kills
// the program the system's way. A closed pipe on standard output or error
// counts as an interrupt: nobody reads any longer.
func listen() signals {
	soft, cancelSoft := context.WithCancel(context.Background())
	hard, cancelHard := context.WithCancel(context.Background())
	s := signals{soft: soft, hard: hard, hangUp: make(chan struct{})}
	caught := make(chan os.Signal, 4)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE} {
		if !signal.Ignored(sig) { // by nohup, say
			signal.Notify(caught, sig)
		}
	}
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
			if sig == syscall.SIGPIPE && interrupts > 0 {
				continue // every later line fails as well
			}
			interrupts++
			cancelSoft()
			if interrupts > 1 {
				cancelHard()
				signal.Reset(os.Interrupt, syscall.SIGTERM)
			}
		}
	}()
	return s
}
