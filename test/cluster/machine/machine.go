// Package machine has what real nodes share with the machine that they run on,
// made so that nothing of it outlives the program: a network and control groups.
// Only Linux has them.
package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// programs are those that nodes need, and that are not built from Go modules.
var programs = []string{"bash", "mount", "runc"}

// Check returns everything that keeps this machine from running real nodes;
// further programs that are needed may be named.
func Check(further ...string) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("real nodes need Linux, and this is %s", runtime.GOOS)
	}
	var problems []error
	if os.Geteuid() != 0 {
		problems = append(problems, errors.New("real nodes need root: they mount file systems and make networks"))
	}
	if err := checkCgroups(); err != nil {
		problems = append(problems, fmt.Errorf("real nodes need cgroups: %w", err))
	}
	for _, name := range append(programs, further...) {
		if _, err := exec.LookPath(name); err != nil {
			problems = append(problems, fmt.Errorf("real nodes need %s: run test/cluster/install.sh", name))
		}
	}
	return errors.Join(problems...)
}
