package local

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shirou/gopsutil/v4/net"

	"github.com/trainyard/trainyard/internal/process"
)

// interpreter is a Python that has Ray; the project's test command gives one.
func interpreter(t *testing.T) string {
	t.Helper()
	python := os.Getenv("TRAINYARD_TEST_PYTHON")
	if python == "" {
		t.Skip("TRAINYARD_TEST_PYTHON names no Python with Ray: make test sets it")
	}
	return python
}

// TestClusterComesAndGoes starts a real cluster beside listeners on Ray's
// default ports, looks at where it listens, passes it from run to run, and
// counts what its end leaves.
func TestClusterComesAndGoes(t *testing.T) {
	python := interpreter(t)
	shmBefore := entries(t, "/dev/shm")
	store := Store{Dir: filepath.Join(t.TempDir(), "clusters"), Environ: os.Environ()}
	spec := Spec{Interpreter: python, Layout: Layout{WorkersPerNode: 1, GPUs: make([][]string, 2)}}
	occupyRayPorts(t)

	r, err := store.Start(t.Context(), spec, func(state string) { t.Log(state) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.End(t.Context(), r) })

	onlyLoopback(t, r)
	if _, ok, err := store.TakeKept(t.Context(), spec); ok || err != nil {
		t.Errorf("a cluster that a run holds was taken by another: %v, %v", ok, err)
	}
	if r, err = store.Change(r.ID, func(r *Record) error { r.Holder = KeptForUse; return nil }); err != nil {
		t.Fatal(err)
	}
	other := spec
	other.Layout.AsHosts = true
	if _, ok, err := store.TakeKept(t.Context(), other); ok || err != nil {
		t.Errorf("a cluster of another layout was taken: %v, %v", ok, err)
	}
	taken, ok, err := store.TakeKept(t.Context(), spec)
	if err != nil || !ok || taken.ID != r.ID || taken.Holder != HeldByRun {
		t.Fatalf("TakeKept = %+v, %v, %v, want cluster %s held by this run", taken, ok, err, r.ID)
	}

	if ended, err := store.EndOrphans(t.Context()); err != nil || len(ended) != 0 {
		t.Fatalf("a cluster whose owner lives counts as an orphan: %v, %v", ended, err)
	}
	dead := process.ID{PID: taken.Owner.PID, Started: taken.Owner.Started - 60_000}
	if _, err := store.Change(r.ID, func(r *Record) error { r.Owner = dead; return nil }); err != nil {
		t.Fatal(err)
	}
	ended, err := store.EndOrphans(t.Context())
	if err != nil || len(ended) != 1 || ended[0].ID != r.ID || ended[0].Processes < 3 {
		t.Fatalf("EndOrphans = %v, %v, want the one cluster", ended, err)
	}
	nothingLeft(t, store, r, shmBefore)
}

func TestStartThatFailsLeavesNothing(t *testing.T) {
	shmBefore := entries(t, "/dev/shm")
	dir := t.TempDir()
	python := filepath.Join(dir, "python")
	script := "#!/bin/sh\necho no room for another process >&2\nexit 3\n"
	if err := os.WriteFile(python, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	store := Store{Dir: filepath.Join(dir, "clusters"), Environ: os.Environ()}
	_, err := store.Start(t.Context(), Spec{Interpreter: python, Layout: Layout{WorkersPerNode: 1, GPUs: make([][]string, 1)}}, func(string) {})
	want := "starting the local ray cluster: ray node \"head\" ended with exit status 3:\n    no room for another process"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if left := entries(t, store.Dir); len(left) != 0 {
		t.Errorf("left in the store: %v", left)
	}
	if left := entries(t, "/dev/shm"); !slices.Equal(left, shmBefore) {
		t.Errorf("/dev/shm = %v, was %v", left, shmBefore)
	}
}

// TestStartOfABusyMachine: what Ray gives up on is tried once more.
func TestStartOfABusyMachine(t *testing.T) {
	dir := t.TempDir()
	python, tries := filepath.Join(dir, "python"), filepath.Join(dir, "tries")
	script := "#!/bin/sh\ncase \"$*\" in *--head*) echo >> " + tries + ";; esac\necho Exception: The current node timed out during startup. >&2\nexit 1\n"
	if err := os.WriteFile(python, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	store := Store{Dir: filepath.Join(dir, "clusters"), Environ: os.Environ()}
	var said []string
	_, err := store.Start(t.Context(), Spec{Interpreter: python, Layout: Layout{WorkersPerNode: 1, GPUs: make([][]string, 1)}},
		func(text string) { said = append(said, text) })
	if err == nil || !strings.Contains(err.Error(), tooSlow) {
		t.Errorf("error = %v, want Ray's", err)
	}
	if count, err := os.ReadFile(tries); err != nil || len(count) != 2 {
		t.Errorf("tried %d times, want 2; %v", len(count), err)
	}
	if !slices.Contains(said, "Ray took longer to start than it waits; once more") {
		t.Errorf("said %q", said)
	}
	if left := entries(t, store.Dir); len(left) != 0 {
		t.Errorf("left in the store: %v", left)
	}
}

// occupyRayPorts stands for another Ray of the user's: something listens on
// the ports that Ray takes where it is not told others.
func occupyRayPorts(t *testing.T) {
	t.Helper()
	for _, port := range []string{"6379", "8265", "10001", "44217", "44227", "52365"} {
		listener := exec.CommandContext(t.Context(), os.Getenv("TRAINYARD_TEST_PYTHON"), "-c",
			"import socket,time; s=socket.create_server(('', "+port+")); print('up', flush=True); time.sleep(600)")
		out, err := listener.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := listener.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Process.Kill(); _ = listener.Wait() })
		if _, err := out.Read(make([]byte, 2)); err != nil {
			t.Logf("port %s is taken already", port)
		}
	}
}

func onlyLoopback(t *testing.T, r Record) {
	t.Helper()
	members, err := r.family().Members()
	if err != nil {
		t.Fatal(err)
	}
	listening := 0
	for _, m := range members {
		conns, err := net.ConnectionsPidWithContext(t.Context(), "tcp", int32(m.PID))
		if err != nil {
			continue // it ended meanwhile
		}
		for _, c := range conns {
			if c.Status != "LISTEN" {
				continue
			}
			listening++
			if ip := c.Laddr.IP; ip != "127.0.0.1" && ip != "::ffff:127.0.0.1" && ip != "::1" {
				t.Errorf("process %d listens on %s:%d", m.PID, ip, c.Laddr.Port)
			}
		}
	}
	if listening < 8 {
		t.Errorf("saw %d listening sockets of %d processes: too few to judge", listening, len(members))
	}
}

func nothingLeft(t *testing.T, store Store, r Record, shmBefore []string) {
	t.Helper()
	if n, err := r.Processes(); err != nil || n != 0 {
		t.Errorf("%d processes left, %v", n, err)
	}
	if _, err := os.Stat(r.TempDir); !os.IsNotExist(err) {
		t.Errorf("session folder %s is left: %v", r.TempDir, err)
	}
	if left := entries(t, store.Dir); len(left) != 0 {
		t.Errorf("left in the store: %v", left)
	}
	if left := entries(t, "/dev/shm"); !slices.Equal(left, shmBefore) {
		t.Errorf("/dev/shm = %v, was %v", left, shmBefore)
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

func TestRemoveTempDirTouchesOnlyItsOwn(t *testing.T) {
	dir := t.TempDir()
	keep := filepath.Join(dir, "keep")
	if err := os.WriteFile(keep, bytes.Repeat([]byte("x"), 3), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, "", "/", "/tmp", "/tmp/ty0-../" + filepath.Base(dir)} {
		if err := removeTempDir(path); err != nil {
			t.Errorf("removeTempDir(%q): %v", path, err)
		}
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
}
