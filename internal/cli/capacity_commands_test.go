package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/ui"
	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// twoAccounts is a simulated AWS of two accounts. The environment has the keys
// of the first, the profile "the other" those of the second.
func twoAccounts(t *testing.T) *sim.Server {
	t.Helper()
	seed := world.Default()
	other := seed.Accounts[0]
	other.ID, other.Keys = "444455556666", []world.Key{{AccessKey: "AKIAOTHER", Secret: "secret", User: "ada"}}
	seed.Accounts = append(seed.Accounts, other)
	server := sim.Start(t, seed)
	for _, pair := range server.Env() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	home := t.TempDir()
	file := filepath.Join(home, "config")
	if err := os.WriteFile(file, []byte("[profile the other]\naws_access_key_id = AKIAOTHER\naws_secret_access_key = secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, "none"))
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("XDG_STATE_HOME", home)
	t.Chdir(home)
	return server
}

// capacityJSON is what matters here of the result.
type capacityJSON struct {
	Account, Cluster string
	Spot             bool
	Advice           struct {
		Command      string
		QuotaRequest struct{ Command string }
		Alternatives []struct{ Command string }
	}
	Filed struct{ WantedVCPUs int }
}

// commands are those of trainyard's in the advice.
func (r capacityJSON) commands() []string {
	all := []string{r.Advice.Command, r.Advice.QuotaRequest.Command}
	for _, other := range r.Advice.Alternatives {
		all = append(all, other.Command)
	}
	return slices.DeleteFunc(all, func(line string) bool { return !strings.HasPrefix(line, "trainyard ") })
}

// runLine runs a command line of trainyard's with its real flags.
func runLine(t *testing.T, line ...string) (r capacityJSON, code fault.Code) {
	t.Helper()
	var out bytes.Buffer
	a := &app{
		streams: ui.Streams{Out: &out, Err: t.Output(), Width: func() int { return ui.Columns }},
		signals: &signals{soft: t.Context(), hard: context.WithoutCancel(t.Context())},
	}
	root := a.root()
	root.SetArgs(append(line, "-o", "json", "--yes", "--progress", "plain"))
	err := root.ExecuteContext(t.Context())
	code = fault.CodeOf(err)
	if code == fault.Usage || out.Len() == 0 {
		t.Fatalf("%q: %v", line, err)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r, code
}

// words are those that a shell makes of a line.
func words(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// TestCapacityCommandsRun copies each command that is printed, and runs it: it is
// about the same account, cluster and kind of capacity.
func TestCapacityCommandsRun(t *testing.T) {
	twoAccounts(t)
	for _, test := range []struct {
		line string
		min  int // commands
	}{
		{"--type g6.12xlarge --nodes 2 --region us-east-1", 1},
		{"--type g6.12xlarge --nodes 8 --region us-east-1,us-east-2", 3},
		{"--type p5.48xlarge --nodes 4 --region us-east-2 --block-for 48h", 4},
		{"--type g6.12xlarge,g6e.12xlarge --nodes 8 --region us-east-1 --spot", 3},
		{"--type g6.12xlarge --nodes 2 --region eu-north-1 --probe", 1},
		{"--type g6.12xlarge --nodes 2 --region us-east-1 --probe --reserve-for 1h", 1},
	} {
		for _, profile := range []string{"", "the other"} {
			line := append([]string{"capacity", "--cluster", "ray-train"}, strings.Fields(test.line)...)
			account := world.DefaultAccount
			if profile != "" {
				line, account = append(line, "--profile", profile), "444455556666"
			}
			first, _ := runLine(t, line...)
			if len(first.commands()) < test.min {
				t.Errorf("%s: %d commands, want %d: %q", test.line, len(first.commands()), test.min, first.commands())
			}
			for _, command := range first.commands() {
				again, _ := runLine(t, words(t, command)[1:]...)
				if again.Account != account || again.Cluster != "ray-train" || again.Spot != first.Spot {
					t.Errorf("%s is about account %s, cluster %q, Spot %v", command, again.Account, again.Cluster, again.Spot)
				}
			}
		}
	}
}

// TestCapacityQuotaCommand files the very request that was shown.
func TestCapacityQuotaCommand(t *testing.T) {
	server := twoAccounts(t)
	first, code := runLine(t, strings.Fields("capacity --type g6.12xlarge --nodes 9 --region eu-west-2")...)
	if code != fault.NoCapacity {
		t.Fatalf("exit code %d", code)
	}
	filed, _ := runLine(t, words(t, first.Advice.QuotaRequest.Command)[1:]...)
	if filed.Filed.WantedVCPUs != 9*48 {
		t.Errorf("filed %+v, want %d vCPUs", filed.Filed, 9*48)
	}
	for _, call := range server.Calls() {
		if call.Action == "RequestServiceQuotaIncrease" && call.Region != "eu-west-2" {
			t.Errorf("filed in %s", call.Region)
		}
	}
}

// TestCapacityQuotaRefused: AWS counts more than can be seen, and refuses; the
// command that is shown files a request that has room for all.
func TestCapacityQuotaRefused(t *testing.T) {
	server := twoAccounts(t)
	server.World.SetConditions(world.Conditions{Faults: []world.Fault{
		{Action: "CreateCapacityReservation", Kind: world.Fail, Code: "InstanceLimitExceeded", Status: 400},
	}})
	first, code := runLine(t, strings.Fields("capacity --type g6.12xlarge --nodes 2 --region us-east-1 --probe")...)
	if code != fault.NoCapacity {
		t.Fatalf("exit code %d", code)
	}
	filed, _ := runLine(t, words(t, first.Advice.QuotaRequest.Command)[1:]...)
	if want := 192 + 2*48; filed.Filed.WantedVCPUs != want {
		t.Errorf("filed %+v, want %d vCPUs", filed.Filed, want)
	}
}
