package controlplane

import (
	"os/exec"
	"runtime"
	"syscall"
)

// A spawner starts processes that Linux kills when this program dies, even by
// kill -9. The kernel watches the thread that started them, not the program, so
// all are started by one thread that ends with the program.
type spawner chan func()

func newSpawner() spawner {
	s := make(spawner)
	go func() {
		runtime.LockOSThread()
		for start := range s {
			start()
		}
		select {} // a locked thread would end with its goroutine
	}()
	return s
}

// start starts cmd in a process group of its own: a Ctrl-C on the terminal is
// for the command that uses the cluster, which may need it to tidy up.
func (s spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	result := make(chan error)
	s <- func() { result <- cmd.Start() }
	return <-result
}
