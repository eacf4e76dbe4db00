package pyenv

import "syscall"

// tiesChildren says that a command ends with trainyard, however that ends.
const tiesChildren = true

// ownProcessGroup also ends the command when trainyard is killed: uv would
// otherwise go on filling a folder that nobody waits for.
func ownProcessGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
