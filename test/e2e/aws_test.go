package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// TestAWS runs the scripts of testdata/aws, each with a simulated AWS of its
// own: that of seed.json, if the script has one.
func TestAWS(t *testing.T) {
	s := newSurroundings(t)
	words := commands()
	maps.Copy(words, awsCommands())
	testscript.RunT(inTurn{t}, testscript.Params{
		Dir:  filepath.Join("testdata", "aws"),
		Cmds: words,
		Setup: func(env *testscript.Env) error {
			server, err := startAWS(env.T().(inTurn).T, filepath.Join(env.WorkDir, "seed.json"))
			if err != nil {
				return err
			}
			if err := s.setup(env); err != nil {
				return err
			}
			env.Vars = append(env.Vars, awsEnv(server, env.WorkDir)...)
			env.Values[awsKey{}] = server
			return nil
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

type awsKey struct{}

// startAWS starts the simulator with a seed, if there is such a file.
func startAWS(t *testing.T, seedFile string) (*sim.Server, error) {
	seed := world.Default()
	data, err := os.ReadFile(seedFile)
	if err == nil {
		err = json.Unmarshal(data, &seed)
	}
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("reading the seed: %w", err)
	}
	return sim.Start(t, seed), nil
}

// awsEnv leads to the simulator, and to no AWS of the user's.
func awsEnv(server *sim.Server, home string) []string {
	return append(server.Env(),
		"AWS_CONFIG_FILE="+filepath.Join(home, "aws-config"), "AWS_SHARED_CREDENTIALS_FILE="+filepath.Join(home, "aws-credentials"),
		"XDG_CACHE_HOME="+filepath.Join(home, ".cache"))
}

// awsCommands are the words that scripts with an AWS have besides:
//
//	conditions FILE
//	    Let AWS behave so from now on: latency, limits, faults.
//	advance DURATION
//	    Let time pass in AWS.
//	reserved N
//	    AWS has so many capacity reservations that cost money.
//	called ACTION N
//	    AWS was called so often.
func awsCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	server := func(ts *testscript.TestScript) *sim.Server { return ts.Value(awsKey{}).(*sim.Server) }
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"conditions": func(ts *testscript.TestScript, _ bool, args []string) {
			var c world.Conditions
			ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &c))
			server(ts).World.SetConditions(c)
		},
		"advance": func(ts *testscript.TestScript, _ bool, args []string) {
			d, err := time.ParseDuration(args[0])
			ts.Check(err)
			server(ts).World.Clock.Advance(d)
		},
		"reserved": func(ts *testscript.TestScript, _ bool, args []string) {
			if got := fmt.Sprint(len(reservations(server(ts)))); got != args[0] {
				ts.Fatalf("AWS has %s reservations, want %s", got, args[0])
			}
		},
		"called": func(ts *testscript.TestScript, _ bool, args []string) {
			n := 0
			for _, c := range server(ts).Calls() {
				if c.Action == args[0] {
					n++
				}
			}
			if got := fmt.Sprint(n); got != args[1] {
				ts.Fatalf("%s was called %s times, want %s", args[0], got, args[1])
			}
		},
	}
}

// reservation is one that AWS still has.
type reservation struct{ ReservationID, State string }

// reservations are those that cost money, or will.
func reservations(server *sim.Server) (held []reservation) {
	var state map[string]map[string]struct{ Reservations []reservation }
	if err := json.Unmarshal(server.State()["ec2"], &state); err != nil {
		panic(err)
	}
	for _, account := range state {
		for _, region := range account {
			for _, r := range region.Reservations {
				if slices.Contains([]string{"active", "assessing", "pending"}, r.State) {
					held = append(held, r)
				}
			}
		}
	}
	return held
}

// paidSeconds is for how long reservations were paid, as far as they have ended.
func paidSeconds(server *sim.Server) (seconds float64) {
	for _, e := range server.Ledger() {
		if e.Kind == "reservation" && !e.To.IsZero() {
			seconds += e.To.Sub(e.From).Seconds()
		}
	}
	return seconds
}

// probeLine is a command that reserves in two zones, one after the other.
var probeLine = []string{"capacity", "--region", "us-east-1,us-east-2", "--probe", "--all", "--yes", "--nodes", "8", "--progress", "plain"}

// roomy is an AWS with stock for eight nodes in two zones.
func roomy() world.Seed {
	seed := world.Default()
	seed.Accounts[0].Quotas["L-DB2E81BA"] = 8 * 48
	seed.Stock = []world.Stock{{Type: "g6.*", Count: 0}, {Type: "g6.*", Zone: "use1-az4", Count: 9}, {Type: "g6.*", Zone: "use2-az1", Count: 9}}
	return seed
}

// probing starts a command with an AWS of its own.
func probing(t *testing.T, seed world.Seed, line ...string) (*sim.Server, *exec.Cmd, *bytes.Buffer) {
	t.Helper()
	server := sim.Start(t, seed)
	cmd := command(t, server, t.TempDir(), line...)
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it has ended, unless the test failed
	return server, cmd, out
}

func command(t *testing.T, server *sim.Server, dir string, line ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "trainyard", line...)
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, awsEnv(server, dir)...)
	return cmd
}

// reaches waits until AWS has seen so many calls, or the command has ended.
func reaches(t *testing.T, server *sim.Server, calls int, ended <-chan error) bool {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if len(server.Calls()) >= calls {
			return true
		}
		if len(ended) > 0 {
			return len(server.Calls()) >= calls
		}
	}
	t.Fatalf("call %d was not made", calls)
	return false
}

// calls waits until AWS has seen so many calls of one kind.
func calls(t *testing.T, server *sim.Server, action string, n int) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		seen := slices.DeleteFunc(server.Calls(), func(r world.Record) bool { return r.Action != action })
		if len(seen) >= n {
			return
		}
	}
	t.Fatalf("%s was not called %d times", action, n)
}

// TestProbeKilled kills a probe before each call that it makes, one after the
// other. The next command leaves no reservation, and what it cost is little.
func TestProbeKilled(t *testing.T) {
	t.Parallel()
	for call := 1; ; call++ {
		seed := roomy()
		seed.Conditions.Faults = []world.Fault{{Skip: call - 1, Kind: world.Hang}}
		if !killedAt(t, seed, call, probeLine...) {
			if call < 30 {
				t.Errorf("the command makes %d calls only: the test shows little", call)
			}
			return
		}
	}
}

// TestProbeKilledUnanswered kills a probe whose reservation was made, and whose
// answer never came.
func TestProbeKilledUnanswered(t *testing.T) {
	t.Parallel()
	seed := roomy()
	seed.Conditions.Faults = []world.Fault{
		{Action: "CreateCapacityReservation", Kind: world.Lose, Times: 1},
		{Action: "CreateCapacityReservation", Kind: world.Hang},
	}
	server, cmd, out := probing(t, seed, "capacity", "--region", "us-east-2", "--probe", "--yes", "--nodes", "8") // 2a, with stock, is the first
	ended := waiting(cmd)
	calls(t, server, "CreateCapacityReservation", 2)
	if len(reservations(server)) != 1 {
		t.Error("no reservation was made: the test shows nothing")
	}
	kill(t, cmd, ended)
	nothingAfterNext(t, server, cmd.Dir, out)
}

// TestKeepKilled: what was to be kept is swept, too, until it is marked.
func TestKeepKilled(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"CreateCapacityReservation", "CreateTags"} {
		seed := roomy()
		seed.Conditions.Faults = []world.Fault{{Action: action, Kind: world.Hang}}
		server, cmd, out := probing(t, seed, append(slices.Clone(probeLine), "--keep")...)
		ended := waiting(cmd)
		calls(t, server, action, 1)
		kill(t, cmd, ended)
		nothingAfterNext(t, server, cmd.Dir, out)
	}
}

// killedAt kills a command before its call number n; it returns false where the
// command makes fewer.
func killedAt(t *testing.T, seed world.Seed, n int, line ...string) bool {
	t.Helper()
	server, cmd, out := probing(t, seed, line...)
	ended := waiting(cmd)
	if !reaches(t, server, n, ended) {
		return false
	}
	kill(t, cmd, ended)
	nothingAfterNext(t, server, cmd.Dir, out)
	return true
}

func kill(t *testing.T, cmd *exec.Cmd, ended <-chan error) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the command ended by itself: the test shows nothing")
	}
}

// waiting hands over how a command ended.
func waiting(cmd *exec.Cmd) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return ended
}

// nothingAfterNext runs the next command, and looks at what is left and what was
// paid.
func nothingAfterNext(t *testing.T, server *sim.Server, dir string, out *bytes.Buffer) {
	t.Helper()
	server.World.SetConditions(world.Conditions{})
	before := len(reservations(server))
	next := command(t, server, dir, "capacity", "--region", "us-east-1", "--nodes", "8", "--progress", "plain")
	text, err := next.CombinedOutput()
	if err != nil {
		t.Errorf("the next command: %v\n%s\nthe killed one:\n%s", err, text, out)
	}
	if left := reservations(server); len(left) > 0 {
		t.Errorf("left after the next command: %v\n%s", left, text)
	}
	if swept := strings.Count(string(text), "cancelled capacity reservation"); swept != before {
		t.Errorf("%d reservations were there, %d are said to be cancelled:\n%s", before, swept, text)
	}
	if s := paidSeconds(server); s > 60 {
		t.Errorf("reservations were paid for %.0f s", s)
	}
}

// TestProbeInterrupted presses Ctrl-C while each call goes on, one after the
// other. Nothing is left when the command has ended, without a next one.
func TestProbeInterrupted(t *testing.T) {
	t.Parallel()
	for call := 1; ; call++ {
		seed := roomy()
		seed.Conditions.Latency = []world.Latency{{Delay: world.Duration(20 * time.Millisecond)}}
		server, cmd, out := probing(t, seed, probeLine...)
		ended := waiting(cmd)
		if !reaches(t, server, call, ended) {
			if call < 30 {
				t.Errorf("the command makes %d calls only: the test shows little", call)
			}
			return
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			return // it has ended
		}
		err := <-ended
		if state, ran := endOf(err); !ran || state != "130" && state != "0" {
			t.Errorf("call %d: ended with %s:\n%s", call, state, out)
		}
		if left := reservations(server); len(left) > 0 {
			t.Errorf("call %d: left %v\n%s", call, left, out)
		}
	}
}
