//go:build !linux

package pyenv

import "syscall"

// tiesChildren says that a command ends with trainyard, however that ends.
const tiesChildren = false

// ownProcessGroup cannot tie the command's life to trainyard's here. A uv that
// outlives a killed trainyard fills a building folder that no later build uses.
func ownProcessGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
