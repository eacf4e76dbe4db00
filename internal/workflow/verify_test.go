package workflow

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/ui"
)

const passing = "../../fabric/testdata/synthetic/efa-gdr"

func verifyDir(t *testing.T, dir string, expect fabric.Expectation) fabric.Report {
	t.Helper()
	r, err := Verify(t.Context(), VerifyRequest{Paths: []string{dir}, Expect: expect, Story: ui.NewStory()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func copyOf(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Whatever is wrong with one file of a job that passes, it does not pass.
func TestNoPassBesideWhatCannotBeRead(t *testing.T) {
	write := func(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }
	harms := map[string]func(path string, data []byte) error{
		"gone":  func(path string, _ []byte) error { return os.Remove(path) },
		"empty": func(path string, _ []byte) error { return write(path, nil) },
		"cut":   func(path string, data []byte) error { return write(path, data[:len(data)/2]) },
		"cut gzip": func(path string, data []byte) error {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			_, _ = w.Write(data)
			_ = w.Close()
			return write(path, b.Bytes()[:b.Len()-8])
		},
		"xz":     func(path string, data []byte) error { return write(path, append([]byte("\xfd7zXZ\x00"), data...)) },
		"binary": func(path string, data []byte) error { return write(path, append([]byte("\x7fELF"), data...)) },
		"loop": func(path string, _ []byte) error {
			_ = os.Remove(path)
			return os.Symlink(filepath.Base(path), path)
		},
		"another's": func(path string, _ []byte) error { return write(path, []byte("Epoch 1\n")) },
	}
	if v := verifyDir(t, passing, fabric.RDMA); v.Verdict.Verdict != fabric.Pass {
		t.Fatalf("the whole job is %s: %s", v.Verdict.Verdict, v.Summary)
	}
	for name, harm := range harms {
		for rank := range 4 {
			t.Run(fmt.Sprintf("%s/%d", name, rank), func(t *testing.T) {
				dir := copyOf(t, passing)
				path := filepath.Join(dir, fmt.Sprintf("rank%d.log", rank))
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := harm(path, data); err != nil {
					t.Fatal(err)
				}
				if v := verifyDir(t, dir, fabric.RDMA); v.Verdict.Verdict != fabric.Unknown {
					t.Errorf("the verdict is %s: %s", v.Verdict.Verdict, v.Summary)
				}
			})
		}
	}
}

// Of several jobs each that passed is in doubt, and the worst is still the first
// of the worst.
func TestDoubtConcernsEachJob(t *testing.T) {
	dir := t.TempDir()
	for rank := range 4 {
		name := fmt.Sprintf("rank%d.log", rank)
		data, err := os.ReadFile(filepath.Join(passing, name))
		if err != nil {
			t.Fatal(err)
		}
		other := bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("0xfeed"), []byte("0xbeef")), []byte("node"), []byte("host"))
		for prefix, text := range map[string][]byte{"a-": data, "b-": other} {
			if err := os.WriteFile(filepath.Join(dir, prefix+name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole := verifyDir(t, dir, fabric.RDMA)
	if len(whole.Jobs) != 2 || whole.Verdict.Verdict != fabric.Pass {
		t.Fatalf("%d jobs, %s", len(whole.Jobs), whole.Verdict.Verdict)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.gz"), []byte("\x1f\x8b"), 0o600); err != nil {
		t.Fatal(err)
	}
	doubted := verifyDir(t, dir, fabric.RDMA)
	for _, job := range doubted.Jobs {
		if job.Verdict.Verdict != fabric.Unknown || job.Cause != fabric.LogTruncated || len(job.Warnings) == 0 {
			t.Errorf("job %s: %s %s", job.Name, job.Verdict.Verdict, job.Cause)
		}
	}
	if doubted.Verdict.Verdict != fabric.Unknown || doubted.Communicators[0].ID != doubted.Jobs[0].Communicators[0].ID {
		t.Errorf("the worst is %s", doubted.Verdict.Verdict)
	}
	if v := verifyDir(t, dir, fabric.Any); v.Blocks() {
		t.Error("nothing is demanded, and it blocks")
	}
}

func TestManyProblemsAreCounted(t *testing.T) {
	dir := copyOf(t, passing)
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("x%d", i)), []byte("\x1f\x8b"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	v := verifyDir(t, dir, fabric.RDMA)
	if n := len(v.Warnings); n != mostProblems+1 {
		t.Fatalf("%d warnings", n)
	}
	if got, want := v.Warnings[mostProblems].Text, "15 more files could not be read"; got != want {
		t.Errorf("the last warning is %q, want %q", got, want)
	}
}
