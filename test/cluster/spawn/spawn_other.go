//go:build !linux

// Package spawn starts processes that end with this program.
package spawn

import (
	"errors"
	"os/exec"
	"syscall"
)

// A Spawner starts processes. Only Linux ends them when this program is killed.
type Spawner struct{}

// New returns a spawner.
func New() Spawner { return Spawner{} }

// Start starts cmd in a process group of its own.
func (Spawner) Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Start()
}

// StartApart needs namespaces.
func (Spawner) StartApart(*exec.Cmd) error { return errors.ErrUnsupported }
