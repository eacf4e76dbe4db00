package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/process"
	"github.com/trainyard/trainyard/internal/ui"
)

func newStore(t *testing.T) Store {
	t.Helper()
	return Store{Dir: filepath.Join(t.TempDir(), ".trainyard", "runs")}
}

func create(t *testing.T, s Store, created time.Time) *Run {
	t.Helper()
	run, err := s.Create(Info{Target: "local"})
	if err != nil {
		t.Fatal(err)
	}
	if !created.IsZero() {
		run.Info.Created = created
		if err := run.Save(); err != nil {
			t.Fatal(err)
		}
	}
	return run
}

func TestCreateOpenList(t *testing.T) {
	s := newStore(t)
	if _, err := s.Open(""); err == nil || len(fault.HintsOf(err)) == 0 {
		t.Errorf("opening where there is no run: %v, want an error with a hint", err)
	}
	old := create(t, s, time.Now().Add(-time.Hour))
	newest := create(t, s, time.Time{})
	if err := os.MkdirAll(filepath.Join(s.Dir, "not-a-run"), 0o700); err != nil {
		t.Fatal(err)
	}

	all, err := s.List()
	if err != nil || len(all) != 2 || all[0].Info.ID != newest.Info.ID {
		t.Fatalf("List = %v, %v, want both, newest first", all, err)
	}
	for _, name := range []string{"", newest.Info.ID, newest.Dir} {
		if got, err := s.Open(name); err != nil || got.Info.ID != newest.Info.ID {
			t.Errorf("Open(%q) = %v, %v, want run %s", name, got, err, newest.Info.ID)
		}
	}
	if got, err := s.Open(old.Info.ID); err != nil || got.Info.ID != old.Info.ID || got.Info.State != Preparing {
		t.Errorf("Open(%q) = %+v, %v", old.Info.ID, got, err)
	}
	for name, want := range map[string]string{"1999": "there is none", old.Info.ID[:4]: "it may be"} {
		if _, err := s.Open(name); err == nil || !strings.Contains(err.Error(), want) || fault.CodeOf(err) != fault.Usage {
			t.Errorf("Open(%q) = %v, want a usage error with %q", name, err, want)
		}
	}
	if got, err := s.OpenCurrent("", ""); err != nil || got.Info.ID != newest.Info.ID {
		t.Errorf("OpenCurrent = %v, %v, want run %s, the newest of those that go on", got, err, newest.Info.ID)
	}
	newest.Info.State = Succeeded
	if err := newest.Save(); err != nil {
		t.Fatal(err)
	}
	if got, err := s.OpenCurrent("", ""); err != nil || got.Info.ID != old.Info.ID {
		t.Errorf("OpenCurrent = %v, %v, want run %s, which goes on", got, err, old.Info.ID)
	}
	if got, err := s.OpenCurrent("", "kubernetes"); err == nil {
		t.Errorf("OpenCurrent = %v of another target", got)
	}
	ignore, err := os.ReadFile(filepath.Join(filepath.Dir(s.Dir), ".gitignore"))
	if err != nil || string(ignore) != "*\n" {
		t.Errorf(".gitignore = %q, %v", ignore, err)
	}
}

func TestUnwritableFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".trainyard")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Store{Dir: filepath.Join(file, "runs")}.Create(Info{})
	if err == nil || !strings.HasPrefix(err.Error(), "making a run folder below ") || len(fault.HintsOf(err)) == 0 {
		t.Errorf("error = %v, want one that names the folder, with a hint", err)
	}
}

func TestCurrentSeesADeadOwner(t *testing.T) {
	run := create(t, newStore(t), time.Time{})
	if got := run.Current(); got != Preparing {
		t.Errorf("state of our own run = %s", got)
	}
	run.Info.State = Running
	run.Info.Owner = process.ID{PID: os.Getpid(), Started: 1}
	if got := run.Current(); got != Lost {
		t.Errorf("state of a run whose owner is gone = %s, want %s", got, Lost)
	}
	run.Info.Detached = true
	if got := run.Current(); got != Running {
		t.Errorf("state of a detached run = %s, want %s", got, Running)
	}
	run.Info.State = Failed
	if got := run.Current(); got != Failed {
		t.Errorf("state of a failed run = %s", got)
	}
}

func TestEventsLeaveTheJobsOutputOut(t *testing.T) {
	run := create(t, newStore(t), time.Time{})
	sink, err := run.Events()
	if err != nil {
		t.Fatal(err)
	}
	story := ui.NewStory(sink)
	story.Begin("cluster")
	story.Update("1 of 3 nodes are up")
	story.Output("rank 0", "a line")
	story.Progress(ui.Progress{Step: 1})
	story.Done("up")
	data, err := os.ReadFile(filepath.Join(run.Dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"step-began"`) || !strings.Contains(lines[1], `"step-done"`) {
		t.Errorf("events:\n%s", data)
	}
}

func TestSteps(t *testing.T) {
	run := create(t, newStore(t), time.Time{})
	if steps := run.Steps(); steps != nil {
		t.Errorf("steps of a run without metrics = %v", steps)
	}
	records := `{"trainyard": 1, "event": "start", "steps": 2}
{"trainyard": 1, "event": "step", "step": 1, "steps": 2, "loss": 5.5}
{"trainyard": 1, "event": "step", "step": 2, "steps": 2, "loss": 5.25}
{"trainyard": 1, "event": "ste`
	if err := os.WriteFile(filepath.Join(run.Dir, "metrics.jsonl"), []byte(records), 0o600); err != nil {
		t.Fatal(err)
	}
	steps := run.Steps()
	if len(steps) != 2 || steps[0].Loss != 5.5 || steps[1].Step != 2 {
		t.Errorf("steps = %+v, want the two whole ones", steps)
	}
}

func TestBrokenRunFile(t *testing.T) {
	s := newStore(t)
	run := create(t, s, time.Time{})
	if err := os.WriteFile(filepath.Join(run.Dir, "run.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(run.Info.ID); err == nil || !strings.Contains(err.Error(), "run.json") {
		t.Errorf("error = %v, want one that names run.json", err)
	}
	if err := os.WriteFile(filepath.Join(run.Dir, "run.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(run.Info.ID); err == nil {
		t.Error("an empty object was taken for a run")
	}
	if _, err := OpenDir(filepath.Join(s.Dir, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v, want fs.ErrNotExist", err)
	}
}

func TestClaim(t *testing.T) {
	run := create(t, newStore(t), time.Time{})
	if claimed, err := run.Claim(); err != nil || claimed {
		t.Errorf("claiming a run whose own process lives: %v, %v, want false", claimed, err)
	}
	run.Info.Owner = process.ID{}
	if err := run.Save(); err != nil {
		t.Fatal(err)
	}
	other, err := OpenDir(run.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if claimed, err := run.Claim(); err != nil || !claimed || !run.Info.Owner.Alive() {
		t.Errorf("claiming a run that nobody follows: %v, %v, owner %v, want true", claimed, err, run.Info.Owner)
	}
	if claimed, err := other.Claim(); err != nil || claimed || other.Info.Owner != run.Info.Owner {
		t.Errorf("claiming it again: %v, %v, owner %v, want false and who has it", claimed, err, other.Info.Owner)
	}
	run.Info.State, run.Info.Owner = Stopped, process.ID{}
	if err := run.Save(); err != nil {
		t.Fatal(err)
	}
	if claimed, err := run.Claim(); err != nil || claimed {
		t.Errorf("claiming a run that has ended: %v, %v, want false", claimed, err)
	}
}
