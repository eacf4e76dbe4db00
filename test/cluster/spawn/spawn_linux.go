// Package spawn starts processes that end with this program.
package spawn

import (
	"os/exec"
	"runtime"
	"syscall"
)

// A Spawner starts processes that Linux kills when this program dies, even by
// kill -9. The kernel watches the thread that started them, not the program, so
// all are started by one thread that ends with the program.
type Spawner chan func()

// New returns a spawner with a thread of its own.
func New() Spawner {
	s := make(Spawner)
	go func() {
		runtime.LockOSThread()
		for start := range s {
			start()
		}
		select {} // a locked thread would end with its goroutine
	}()
	return s
}

// Do calls action on the spawner's thread, whose namespaces all that it starts
// later will have.
func (s Spawner) Do(action func() error) error {
	result := make(chan error)
	s <- func() { result <- action() }
	return <-result
}

// Start starts cmd in a process group of its own: a Ctrl-C on the terminal is
// for the command that uses the cluster, which may need it to tidy up.
func (s Spawner) Start(cmd *exec.Cmd) error { return s.start(cmd, 0) }

// StartApart also gives it a process namespace and a mount namespace of its own:
// all that it starts, however far that runs away, ends with it, and what it
// mounts nobody else sees.
func (s Spawner) StartApart(cmd *exec.Cmd) error {
	return s.start(cmd, syscall.CLONE_NEWPID|syscall.CLONE_NEWNS)
}

func (s Spawner) start(cmd *exec.Cmd, namespaces uintptr) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: namespaces}
	return s.Do(cmd.Start)
}
