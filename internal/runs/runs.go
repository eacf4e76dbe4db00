// Package runs keeps one folder for each run of a job. It is written as the
// run goes on, so that a run that was killed leaves a folder that can be read:
//
//	.trainyard/runs/<id>/
//	  run.json       what runs, where, with which versions; how it ended
//	  events.jsonl   what trainyard did and when, one JSON object a line
//	  metrics.jsonl  the training's own records, one JSON object a line
//	  logs/          the driver's and every worker's output
//	  verdict.json   which network carried the job
//	  counters.json  what this machine's RDMA cards had counted before the job
//	  nodes-*.json   what the nodes of a cluster elsewhere showed, before and after
//	  checkpoints/   what the built-in training saves, unless told otherwise
package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/process"
)

// State is where a run stands.
type State string

// The states of a run. Those after Running are final.
const (
	Preparing   State = "preparing" // before the job is submitted
	Running     State = "running"
	Succeeded   State = "succeeded"
	Failed      State = "failed"
	Stopped     State = "stopped" // by trainyard stop
	TimedOut    State = "timed-out"
	Interrupted State = "interrupted" // by Ctrl-C
	Lost        State = "lost"        // its trainyard was killed and what ran was ended, or its cluster went away
)

// Final tells whether the run has come to its end.
func (s State) Final() bool { return s != Preparing && s != Running }

// Info is the content of run.json. It holds no secrets.
type Info struct {
	Version      int        `json:"version"` // of this format: 1
	ID           string     `json:"id"`
	State        State      `json:"state"`
	Target       string     `json:"target"`
	Command      []string   `json:"command"`    // trainyard's own arguments
	Entrypoint   string     `json:"entrypoint"` // what Ray runs
	SubmissionID string     `json:"submissionID"`
	BuiltIn      bool       `json:"builtIn"` // the training package that comes with trainyard
	Git          *Git       `json:"git,omitempty"`
	Versions     Versions   `json:"versions"`
	Cluster      Cluster    `json:"cluster"`
	Package      Package    `json:"package"`
	Created      time.Time  `json:"created"`
	Submitted    *time.Time `json:"submitted,omitempty"`
	Ended        *time.Time `json:"ended,omitempty"`
	ExitCode     *int       `json:"exitCode,omitempty"`
	Message      string     `json:"message,omitempty"` // why it failed
	Verdict      string     `json:"verdict,omitempty"` // PASS, FAIL, UNKNOWN and the cause
	Expect       string     `json:"expect"`
	Keep         bool       `json:"keep"`               // the cluster outlives the run
	Detached     bool       `json:"detached"`           // no client answers for it
	FailFast     bool       `json:"failFast,omitempty"` // a FAIL of the fabric check ends the job
	TimeoutS     float64    `json:"timeoutSeconds,omitempty"`
	// PendingTimeoutS is how long workers may wait for room; 0: for ever.
	PendingTimeoutS float64    `json:"pendingTimeoutSeconds,omitempty"`
	Owner           process.ID `json:"owner"` // the trainyard that runs or follows it
}

// Git is the state of the working directory's repository.
type Git struct {
	Commit string `json:"commit"`
	Dirty  bool   `json:"dirty"` // files differ from the commit
}

// Versions of what takes part.
type Versions struct {
	Trainyard  string `json:"trainyard"`
	Python     string `json:"python,omitempty"`
	Ray        string `json:"ray"`
	Torch      string `json:"torch,omitempty"`
	Kubernetes string `json:"kubernetes,omitempty"`
	Image      string `json:"image,omitempty"` // of the pods
}

// Cluster is where the job runs.
type Cluster struct {
	ID             string `json:"id"`                   // on Kubernetes namespace/name
	Kubeconfig     string `json:"kubeconfig,omitempty"` // that the settings named
	Context        string `json:"context,omitempty"`    // of the kubeconfig
	Address        string `json:"address"`              // of the dashboard
	Nodes          int    `json:"nodes"`
	WorkersPerNode int    `json:"workersPerNode"`
	GPUs           int    `json:"gpus"`
}

// Package is the code that was sent.
type Package struct {
	Name  string `json:"name"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// Run is one run's folder.
type Run struct {
	Dir  string
	Info Info
}

// Store is the folder that holds all runs of a working directory.
type Store struct {
	Dir string // usually .trainyard/runs
}

// Create makes the folder of a new run and fills in its id, creation time and
// owner.
func (s Store) Create(info Info) (*Run, error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil { //nolint:gosec // logs are for the user's colleagues, too
		return nil, unwritable(s.Dir, err)
	}
	s.ignore()
	for {
		info.Version, info.State = 1, Preparing
		info.Created = time.Now().Truncate(time.Millisecond)
		info.ID = fmt.Sprintf("%s-%04x", info.Created.Format("20060102"), rand.N(1<<16))
		info.Owner = process.Self()
		run := &Run{Dir: filepath.Join(s.Dir, info.ID), Info: info}
		err := os.Mkdir(run.Dir, 0o755) //nolint:gosec // as above
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, unwritable(s.Dir, err)
		}
		if err := os.Mkdir(run.LogDir(), 0o755); err != nil { //nolint:gosec // as above
			return nil, unwritable(run.Dir, err)
		}
		return run, run.Save()
	}
}

func unwritable(dir string, err error) error {
	return fault.WithHint("run it in a folder that you may write to, or make this one writable",
		fmt.Errorf("making a run folder below %q: %w", dir, err))
}

// ignore keeps .trainyard out of the user's commits; a failure matters to
// nobody.
func (s Store) ignore() {
	path := filepath.Join(filepath.Dir(s.Dir), ".gitignore")
	if _, err := os.Stat(path); err == nil {
		return
	}
	_ = os.WriteFile(path, []byte("*\n"), 0o644) //nolint:gosec // not a secret
}

// Open reads the run with the given id, or unique beginning of one; "" is the
// newest run.
func (s Store) Open(id string) (*Run, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fault.WithHint("start one with: trainyard train", fmt.Errorf("opening a run: there is none in %q", s.Dir))
	}
	if id == "" {
		all, err := s.List()
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("opening the newest run: no run in %q can be read", s.Dir)
		}
		return all[0], nil
	}
	matches := slices.DeleteFunc(ids, func(other string) bool { return !strings.HasPrefix(other, filepath.Base(id)) })
	switch {
	case len(matches) == 0:
		return nil, fault.WithCode(fault.Usage, fault.WithHint("trainyard runs lists them", fmt.Errorf("opening run %q: there is none in %q", id, s.Dir)))
	case len(matches) > 1 && !slices.Contains(matches, id):
		return nil, fault.WithCode(fault.Usage, fmt.Errorf("opening run %q: it may be %s", id, strings.Join(matches, " or ")))
	}
	return read(filepath.Join(s.Dir, matches[0]))
}

// OpenCurrent is Open where id names a run; else it opens the newest run that
// has not ended, or the newest of all where each has. A target leaves out the runs
// of others.
func (s Store) OpenCurrent(id, target string) (*Run, error) {
	if id != "" {
		return s.Open(id)
	}
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r *Run) bool { return target != "" && r.Info.Target != target })
	for _, run := range all {
		if !run.Current().Final() {
			return run, nil
		}
	}
	if target != "" && len(all) == 0 {
		return nil, fmt.Errorf("opening the newest run: there is none in %q of target %s", s.Dir, target)
	}
	if len(all) > 0 {
		return all[0], nil
	}
	return s.Open("")
}

// List reads all runs, newest first. Folders that are not runs are left out.
func (s Store) List() ([]*Run, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	all := make([]*Run, 0, len(ids))
	for _, id := range ids {
		if run, err := read(filepath.Join(s.Dir, id)); err == nil {
			all = append(all, run)
		}
	}
	slices.SortStableFunc(all, func(a, b *Run) int { return b.Info.Created.Compare(a.Info.Created) })
	return all, nil
}

func (s Store) ids() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	ids := make([]string, 0, len(entries))
	for _, entry := range entries {
		if entry.IsDir() {
			ids = append(ids, entry.Name())
		}
	}
	return ids, nil
}

// OpenDir reads the run in one folder.
func OpenDir(dir string) (*Run, error) { return read(dir) }

func read(dir string) (*Run, error) {
	data, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		return nil, fmt.Errorf("reading run: %w", err)
	}
	run := &Run{Dir: dir}
	if err := json.Unmarshal(data, &run.Info); err != nil {
		return nil, fmt.Errorf("reading %q: %w", filepath.Join(dir, "run.json"), err)
	}
	if run.Info.ID == "" || run.Info.State == "" {
		return nil, fmt.Errorf("reading %q: it names no run and state", filepath.Join(dir, "run.json"))
	}
	return run, nil
}

// Claim makes this process the one that follows the run; of several that try at
// once, one succeeds. It is false where the run has ended or another process
// follows it: Info says which. Should this process die, the run goes on as before.
func (r *Run) Claim() (bool, error) {
	lock := flock.New(filepath.Join(r.Dir, "run.lock"))
	if err := lock.Lock(); err != nil {
		return false, fmt.Errorf("locking run %q: %w", r.Info.ID, err)
	}
	defer lock.Unlock() //nolint:errcheck // ends with the process at the latest
	now, err := read(r.Dir)
	if err != nil {
		return false, err
	}
	r.Info = now.Info
	if r.Info.State.Final() || r.Info.Owner.Alive() {
		return false, nil
	}
	r.Info.Owner = process.Self()
	return true, r.Save()
}

// Save writes run.json: whole or not at all.
func (r *Run) Save() error { return r.writeJSON("run.json", r.Info) }

// SaveVerdict writes verdict.json.
func (r *Run) SaveVerdict(verdict any) error { return r.writeJSON("verdict.json", verdict) }

func (r *Run) writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s of run %q: %w", name, r.Info.ID, err)
	}
	if err := renameio.WriteFile(filepath.Join(r.Dir, name), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing %s of run %q: %w", name, r.Info.ID, err)
	}
	return nil
}

// Current is the run's state as seen now: a run whose trainyard died without
// ending it is Lost, whatever its file says. A job on a cluster elsewhere goes on
// without its trainyard.
func (r *Run) Current() State {
	elsewhere := r.Info.Cluster.Context != "" && r.Info.Submitted != nil
	if r.Info.State.Final() || r.Info.Detached || r.Info.Owner.Alive() || elsewhere {
		return r.Info.State
	}
	return Lost
}

// LogDir is where the output of driver and workers lies.
func (r *Run) LogDir() string { return filepath.Join(r.Dir, "logs") }

// SurveyPath is the file of what the nodes of a cluster elsewhere showed before
// the job, or after it.
func (r *Run) SurveyPath(before bool) string {
	name := "nodes-after.json"
	if before {
		name = "nodes-before.json"
	}
	return filepath.Join(r.Dir, name)
}

// CountersPath is the file of the network cards' counters before the job; it
// is not there on machines without such cards.
func (r *Run) CountersPath() string { return filepath.Join(r.Dir, "counters.json") }
