package cli

import (
	"io"
	"os"
	"syscall"
	"testing"
)

// A child that does not read its standard input, or a server that closes a
// connection, makes the kernel send SIGPIPE too.
func TestOnlyTheStandardStreamsInterrupt(t *testing.T) {
	signals := listen()
	broken := brokenPipe(t)
	if _, err := broken.Write([]byte("x")); err == nil {
		t.Fatal("a write to a closed pipe went well")
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGPIPE); err != nil {
		t.Fatal(err)
	}
	if err := signals.soft.Err(); err != nil {
		t.Fatalf("a closed pipe elsewhere ended the command: %v", err)
	}
	out := &output{w: broken, interrupt: signals.interrupt}
	if _, err := io.WriteString(out, "x"); err == nil {
		t.Fatal("a write to a closed pipe went well")
	}
	if signals.soft.Err() == nil {
		t.Error("a closed standard stream did not end the command")
	}
	if err := out.failure(); err != nil {
		t.Errorf("a closed pipe is kept as a failure: %v", err)
	}
}

func TestAFullDiskIsKept(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	out := &output{w: full, interrupt: func() { t.Error("a full disk interrupts") }}
	_, _ = io.WriteString(out, "x")
	if out.failure() == nil {
		t.Error("the failure is lost")
	}
}

func brokenPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}
