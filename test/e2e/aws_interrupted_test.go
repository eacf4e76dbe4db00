package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// TestAWSProbeInterrupted presses Ctrl-C while each call goes on, one after the
// other. Nothing is left when the command has ended, without a next one.
func TestAWSProbeInterrupted(t *testing.T) {
	t.Parallel()
	interruptedAtEach(t, func(call int, server *sim.Server, text string) {
		if left := reservations(server); len(left) > 0 {
			t.Errorf("call %d: left %v\n%s", call, left, text)
		}
	}, probeLine...)
}

// TestAWSKeepInterrupted: what was kept when the interrupt came is, and is said.
// Nothing else is left.
func TestAWSKeepInterrupted(t *testing.T) {
	t.Parallel()
	kept := 0
	interruptedAtEach(t, func(call int, server *sim.Server, text string) {
		for _, r := range reservations(server) {
			kept++
			if !isKept(r) || !strings.Contains(text, "kept "+r.ReservationID) {
				t.Errorf("call %d: left %v\n%s", call, r, text)
			}
		}
	}, append(slices.Clone(probeLine), "--keep")...)
	if kept == 0 {
		t.Error("nothing was kept: the test shows little")
	}
}

func isKept(r reservation) bool {
	return slices.ContainsFunc(r.Tags, func(tag struct{ Key, Value string }) bool {
		return tag.Key == "trainyard.dev/kept" && tag.Value == "true"
	})
}

// interruptedAtEach runs a command again and again, interrupts it at its first
// call, its second, and so on, and looks at what there is then.
func interruptedAtEach(t *testing.T, look func(call int, server *sim.Server, text string), line ...string) {
	t.Helper()
	for call := 1; ; call++ {
		seed := roomy()
		seed.Conditions.Latency = []world.Latency{{Delay: world.Duration(20 * time.Millisecond)}}
		server, cmd, out := probing(t, seed, line...)
		ended := waiting(cmd)
		if !reaches(t, server, call, anyCall, ended.ended) {
			if call < 30 {
				t.Errorf("the command makes %d calls only: the test shows little", call)
			}
			return
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			return // it has ended
		}
		begun := len(server.Calls())
		state, _ := endOf(ended.wait())
		// Only with its last call on its way a command may end well nevertheless.
		if last := len(server.Calls()) == begun; state != "130" && !(state == "0" && last) {
			t.Errorf("call %d: ended with %s:\n%s", call, state, out)
		}
		look(call, server, fmt.Sprint(out))
	}
}

// TestAWSHangUp: the terminal goes while AWS makes the reservation. It is kept where
// that was wanted, and cancelled otherwise, by one call, which is the last.
func TestAWSHangUp(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		seed := roomy()
		seed.Conditions.Faults = []world.Fault{{Action: "CreateCapacityReservation", Kind: world.Late, Delay: world.Duration(300 * time.Millisecond)}}
		line, want := slices.Clone(probeLine), 0
		if keep {
			line, want = append(line, "--keep"), 1
		}
		server, cmd, out := probing(t, seed, line...)
		ended := waiting(cmd)
		made := func(r world.Record) bool {
			return r.Action == "CreateCapacityReservation" && strings.HasPrefix(r.Outcome, "ok")
		}
		if !reaches(t, server, 1, made, ended.ended) {
			t.Fatalf("nothing was reserved:\n%s", out)
		}
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if state, _ := endOf(ended.wait()); state != "130" {
			t.Errorf("keep %t: ended with %s:\n%s", keep, state, out)
		}
		left, calls := reservations(server), server.Calls()
		if len(left) != want || keep && !isKept(left[0]) || calls[len(calls)-2].Action != "CreateCapacityReservation" {
			t.Errorf("keep %t: left %v\n%s", keep, left, out)
		}
	}
}
