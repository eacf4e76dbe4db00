package process

import (
	"bufio"
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start runs a shell command as the leader of a session of its own and returns
// the first line it prints, split into words.
func start(t *testing.T, script string, env ...string) (ID, []string) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "sh", "-c", script)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id, strings.Fields(line)
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAliveKnowsAReusedPID(t *testing.T) {
	self := Self()
	if !self.Alive() {
		t.Fatalf("Self() = %+v is not alive", self)
	}
	earlier := ID{PID: self.PID, Started: self.Started - 60_000}
	if earlier.Alive() {
		t.Errorf("a process with our pid that began a minute earlier counts as alive")
	}
	if (ID{}).Alive() {
		t.Error("the zero ID counts as alive")
	}
}

func TestEndReachesWholeFamily(t *testing.T) {
	// A child in the leader's session, and one that left it with setsid: the
	// way a Ray job's driver does.
	leader, words := start(t, `sleep 300 & a=$!; setsid sleep 300 & b=$!; echo $a $b; wait`, "PATH=/usr/bin:/bin")
	other, _ := start(t, `sleep 300 & echo $!; wait`, "PATH=/usr/bin:/bin")
	// An orphan outside the session whose parents are gone: only its mark tells.
	_, orphan := start(t, `setsid sleep 300 & echo $!`, "PATH=/usr/bin:/bin", "TRAINYARD_CLUSTER=abc")

	family := Family{Leaders: []ID{leader}, Mark: "TRAINYARD_CLUSTER=abc"}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := family.End(ctx); err != nil {
		t.Fatal(err)
	}
	for _, word := range append(words, orphan...) {
		if err := syscall.Kill(number(t, word), 0); err == nil {
			if id, err := Of(number(t, word)); err == nil && id.Alive() {
				t.Errorf("process %s survived", word)
			}
		}
	}
	if !other.Alive() {
		t.Error("a process of another session was ended")
	}
	if err := family.End(ctx); err != nil {
		t.Errorf("ending twice: %v", err)
	}
}

func TestSessionsOfAReusedLeaderAreNotOurs(t *testing.T) {
	leader, _ := start(t, `sleep 300 & echo $!; wait`, "PATH=/usr/bin:/bin")
	leader.Started -= 60_000
	members, err := Family{Leaders: []ID{leader}}.Members()
	if err != nil {
		t.Fatal(err)
	}
	if len(members) != 0 {
		t.Errorf("Members() = %v, want none: the pid is another process's now", members)
	}
}
