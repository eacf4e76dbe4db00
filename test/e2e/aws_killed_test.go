package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

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

// reaches waits until AWS has seen so many calls that satisfy a condition; it
// returns false where the command ends before that.
func reaches(t *testing.T, server *sim.Server, calls int, those func(world.Record) bool, ended <-chan struct{}) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	enough := func(all []world.Record) bool {
		n := 0
		for _, r := range all {
			if those(r) {
				n++
			}
		}
		return n >= calls
	}
	if server.World.Await(ctx, enough) == nil || enough(server.Calls()) {
		return true
	}
	if t.Context().Err() == nil && ctx.Err() == context.DeadlineExceeded {
		t.Fatalf("call %d was not made", calls)
	}
	return false
}

func anyCall(world.Record) bool { return true }

func of(action string) func(world.Record) bool {
	return func(r world.Record) bool { return r.Action == action }
}

// TestAWSProbeKilled kills a probe before each call that it makes, one after the
// other. The next command leaves no reservation, and what it cost is little.
func TestAWSProbeKilled(t *testing.T) {
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

// TestAWSProbeKilledUnanswered kills a probe whose reservation was made, and whose
// answer never came.
func TestAWSProbeKilledUnanswered(t *testing.T) {
	t.Parallel()
	seed := roomy()
	seed.Conditions.Faults = []world.Fault{
		{Action: "CreateCapacityReservation", Kind: world.Lose, Times: 1},
		{Action: "CreateCapacityReservation", Kind: world.Hang},
	}
	server, cmd, out := probing(t, seed, "capacity", "--region", "us-east-2", "--probe", "--yes", "--nodes", "8") // 2a, with stock, is the first
	ended := waiting(cmd)
	reaches(t, server, 2, of("CreateCapacityReservation"), ended.ended)
	if len(reservations(server)) != 1 {
		t.Error("no reservation was made: the test shows nothing")
	}
	kill(t, cmd, ended)
	nothingAfterNext(t, server, cmd.Dir, out)
}

// TestAWSProbeLost: AWS makes a reservation, without an answer, and does not show it.
// The command makes no other, and says where to look again.
func TestAWSProbeLost(t *testing.T) {
	t.Parallel()
	seed := roomy()
	seed.Conditions.Faults = []world.Fault{
		{Action: "CreateCapacityReservation", Kind: world.Lose, Times: 1},
		{Action: "CreateCapacityReservation", Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403},
		{Action: "DescribeCapacityReservations", Skip: 1, Region: "us-east-2", Kind: world.Fail, Code: "UnauthorizedOperation", Status: 403},
	}
	server, cmd, out := probing(t, seed, "capacity", "--region", "us-east-2", "--probe", "--all", "--yes", "--nodes", "8") // 2a, with stock, is the first
	if state, _ := endOf(waiting(cmd).wait()); state != "1" || len(reservations(server)) != 1 {
		t.Errorf("ended with %s, left %v", state, reservations(server))
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"error reserving 8 g6.12xlarge in us-east-2a: not permitted: ec2:CreateCapacityReservation; AWS may have made the reservation nevertheless;",
		"if there is one, AWS ends it within an hour after 20",
		"hint trainyard capacity --type g6.12xlarge --nodes 8 --region us-east-2 looks again, and cancels what it finds",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	nothingAfterNext(t, server, cmd.Dir, out)
}

// TestAWSKeepKilled: what was to be kept is swept, too, until it is marked.
func TestAWSKeepKilled(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"CreateCapacityReservation", "CreateTags"} {
		seed := roomy()
		seed.Conditions.Faults = []world.Fault{{Action: action, Kind: world.Hang}}
		server, cmd, out := probing(t, seed, append(slices.Clone(probeLine), "--keep")...)
		ended := waiting(cmd)
		reaches(t, server, 1, of(action), ended.ended)
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
	if !reaches(t, server, n, anyCall, ended.ended) {
		return false
	}
	kill(t, cmd, ended)
	nothingAfterNext(t, server, cmd.Dir, out)
	return true
}

func kill(t *testing.T, cmd *exec.Cmd, ended *ending) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := ended.wait(); err == nil {
		t.Error("the command ended by itself: the test shows nothing")
	}
}

// ending is how a command ended.
type ending struct {
	ended chan struct{}
	err   error // once it has
}

func waiting(cmd *exec.Cmd) *ending {
	e := &ending{ended: make(chan struct{})}
	go func() {
		e.err = cmd.Wait()
		close(e.ended)
	}()
	return e
}

// wait returns how the command ended, once it has.
func (e *ending) wait() error {
	<-e.ended
	return e.err
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
