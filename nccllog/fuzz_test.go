package nccllog_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/nccllog"
)

// FuzzSplit: bytes may be cut anywhere; the Log is the same.
func FuzzSplit(f *testing.F) {
	for _, pattern := range []string{"nccl-2.28.9/*", "ray-2.58/ray_socket/*"} {
		paths, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil || len(paths) == 0 {
			f.Fatalf("reading seeds: %v", err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, uint(len(b)/2), uint(7))
		}
	}
	f.Add([]byte("h:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [receive] via NET/a/0"), uint(3), uint(1))
	f.Add([]byte("NCCL INFO [\rNCCL WARN ]\x1b[NCCL version 2.1.\x00NCCL INFO NCCL INFO "), uint(3), uint(1))
	f.Fuzz(func(t *testing.T, b []byte, first, step uint) {
		whole := feed(b)
		if diff := cmp.Diff(whole, feed(cut(b, first)...)); diff != "" {
			t.Errorf("cut at %d (-whole +cut):\n%s", first, diff)
		}
		if diff := cmp.Diff(whole, feed(pieces(b, step)...)); diff != "" {
			t.Errorf("in pieces of %d (-whole +pieces):\n%s", step, diff)
		}
		check(t, whole, len(b))
	})
}

// TestSplitAnywhere cuts a real log at every byte.
func TestSplitAnywhere(t *testing.T) {
	for _, name := range []string{"nccl-2.28.9/ofi_efa_nodevice.rank0.log", "nccl-2.28.9/stamps.rank1.log"} {
		b := load(t, name)
		whole := feed(b)
		for at := range b {
			if diff := cmp.Diff(whole, feed(cut(b, uint(at))...)); diff != "" {
				t.Fatalf("%s cut at %d (-whole +cut):\n%s", name, at, diff)
			}
		}
		if diff := cmp.Diff(whole, feed(pieces(b, 1)...)); diff != "" {
			t.Errorf("%s byte by byte (-whole +bytes):\n%s", name, diff)
		}
	}
}

func feed(pieces ...[]byte) *nccllog.Log {
	p := nccllog.NewParser("fuzz")
	for _, piece := range pieces {
		p.Write(piece)
	}
	p.Close()
	return p.Log()
}

func cut(b []byte, at uint) [][]byte {
	at = min(at, uint(len(b)))
	return [][]byte{b[:at], b[at:]}
}

func pieces(b []byte, size uint) [][]byte {
	size = max(size, 1)
	var all [][]byte
	for len(b) > 0 {
		n := min(size, uint(len(b)))
		all = append(all, b[:n])
		b = b[n:]
	}
	return all
}

// check holds what is true of every Log.
func check(t *testing.T, log *nccllog.Log, size int) {
	if log.Bytes != int64(size) {
		t.Errorf("%d bytes of %d", log.Bytes, size)
	}
	for _, p := range log.Processes {
		for _, e := range p.Edges {
			if e.Line < 1 || e.Line > log.Lines || e.Count < 1 || e.Net == "" {
				t.Errorf("edge %+v", e)
			}
		}
		for _, s := range p.Steps {
			if s.Line < 1 || s.Line > log.Lines || len(s.Text) > nccllog.MaxText+len("NCCL WARN ")+3 {
				t.Errorf("step %+v", s)
			}
		}
	}
}
