//go:build !linux

package controlplane

import (
	"os/exec"
	"syscall"
)

// A spawner starts processes. Only Linux ends them when this program is killed.
type spawner struct{}

func newSpawner() spawner { return spawner{} }

func (spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Start()
}
