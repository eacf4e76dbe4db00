package machine

import (
	"os/exec"
	"testing"
)

// TestOwner looks at this program, at one that has ended but was not waited for,
// at one whose id has been given again, and at none.
func TestOwner(t *testing.T) {
	self, err := owner()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "echo; exec sleep 100")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	other, err := ownerOf(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{self: false, other: false, self + "0": true, "rest": false} {
		if got := ended(name); got != want {
			t.Errorf("ended(%q) = %t", name, got)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for !ended(other) { // until the kernel has done it; the test's deadline bounds it
	}
	_ = cmd.Wait()
	if !ended(other) {
		t.Errorf("a program that was waited for has not ended")
	}
}
