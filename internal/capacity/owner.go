package capacity

import (
	"os"
	"strings"

	"github.com/trainyard/trainyard/internal/process"
)

// Me is who makes reservations: a person, by one process of one machine.
type Me struct {
	Owner   string // the user
	Run     string // this command, like no other
	Machine string
	Process process.ID
}

// Machine names this machine as far as process ids reach: its host name, and
// on Linux which boot of it and which namespace of processes.
func Machine() string {
	host, _ := os.Hostname() // without a name the rest must do
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	id, _, _ := strings.Cut(strings.TrimSpace(string(boot)), "-")
	return strings.Trim(host+" "+id+" "+strings.TrimPrefix(namespace, "pid:"), " ")
}
