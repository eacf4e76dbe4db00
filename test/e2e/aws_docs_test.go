package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// TestAWSCapacityScript runs the line of docs/capacity.md that takes the zone out
// of the result: there is one only where a probe has proven it, although a pipe
// hides the exit code of what is before it.
func TestAWSCapacityScript(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/capacity.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^zone=.*$`).Find(page)
	if line == nil {
		t.Fatal("docs/capacity.md has no line that begins with zone=")
	}
	for name, test := range map[string]struct {
		fault []world.Fault
		want  string
	}{
		"proven":   {nil, "us-east-1d"},
		"unproven": {[]world.Fault{{Action: "CreateCapacityReservation", Kind: world.Fail, Code: "InvalidParameterValue", Status: 400}}, ""},
		"no stock": {[]world.Fault{{Action: "CreateCapacityReservation", Kind: world.Fail, Code: "InsufficientInstanceCapacity", Status: 500}}, ""},
		"no answer": {[]world.Fault{
			{Service: "servicequotas", Kind: world.Fail, Code: "AccessDeniedException", Status: 400},
			{Action: "CreateCapacityReservation", Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403},
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := world.Default()
			seed.Stock = []world.Stock{{Type: "g6.*", Count: 0}, {Type: "g6.*", Zone: "use1-az4", Count: 9}}
			seed.Conditions.Faults = test.fault
			cmd := command(t, sim.Start(t, seed), t.TempDir())
			cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", string(line) + ` || exit 9; printf %s "$zone"`}
			cmd.Env = append(cmd.Env, "AWS_MAX_ATTEMPTS=1", "PATH="+withJQ(t, cmd.Dir)+":"+os.Getenv("PATH"))
			out, err := cmd.Output()
			if state, ran := endOf(err); !ran || (state == "0") != (test.want != "") || string(out) != test.want && test.want != "" {
				t.Errorf("ended with %s: zone %q, want %q", state, out, test.want)
			}
		})
	}
}

// withJQ is a folder that has a jq, which Python stands in for where there is
// none: as much of it as the line needs.
func withJQ(t *testing.T, dir string) string {
	t.Helper()
	if path, err := exec.LookPath("jq"); err == nil {
		return filepath.Dir(path)
	}
	const standIn = `#!/usr/bin/env python3
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[2].strip(".").split("."):
    value = (value or {}).get(key)
print("null" if value is None else value)
sys.exit(value is None)
`
	if err := os.WriteFile(filepath.Join(dir, "jq"), []byte(standIn), 0o755); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	return dir
}
