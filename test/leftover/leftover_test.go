package leftover

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/process"
	"github.com/trainyard/trainyard/internal/target/local"
)

// TestCount lets a cluster leave one thing of each kind, and a program that
// only has the mark.
func TestCount(t *testing.T) {
	store := local.Store{Dir: t.TempDir()}
	mark := "TRAINYARD_TEST_SCRIPT=" + filepath.Base(store.Dir)
	w, err := Begin(store, mark)
	if err != nil {
		t.Fatal(err)
	}
	ray, marked := sleeper(t, nil), sleeper(t, append(os.Environ(), mark))
	record := local.Record{ID: "abc", TempDir: t.TempDir(), Leaders: []process.ID{ray}}
	write(t, store, record)
	w.look()

	processOf := func(id process.ID) string { return fmt.Sprintf("process %d: sleep 600", id.PID) }
	ofCluster := []string{processOf(ray), "record " + filepath.Join(store.Dir, "abc"), "folder " + record.TempDir}
	if diff := cmp.Diff(ofCluster, count(t, w, false)); diff != "" {
		t.Errorf("left of the cluster (-want +got):\n%s", diff)
	}
	all := append([]string{processOf(marked)}, ofCluster...)
	if diff := cmp.Diff(all, count(t, w, true)); diff != "" {
		t.Errorf("left of everything (-want +got):\n%s", diff)
	}

	if err := w.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(store.Dir, "abc"), record.TempDir} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if left := count(t, w, true); left != nil {
		t.Errorf("left after the end: %v", left)
	}
}

func count(t *testing.T, w *Watch, marked bool) []string {
	t.Helper()
	left, err := w.count(marked)
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// sleeper starts a program as the leader of a session, as Ray's nodes are.
func sleeper(t *testing.T, environ []string) process.ID {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Env = environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := process.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // a killed process has no other end
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	return id
}

func write(t *testing.T, store local.Store, record local.Record) {
	t.Helper()
	data, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(store.Dir, record.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cluster.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
}
