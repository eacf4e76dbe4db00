package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
	"github.com/shirou/gopsutil/v4/host"

	"github.com/trainyard/trainyard/internal/process"
	"github.com/trainyard/trainyard/internal/target"
)

// Holder says who answers for a cluster, and so when it may be ended.
type Holder string

// The holders of a cluster.
const (
	HeldByRun  Holder = "run"      // a running trainyard; dead owner: an orphan
	Detached   Holder = "detached" // a job that goes on without a client
	KeptForUse Holder = "kept"     // nobody: the next run takes it
)

// Record is what is written down of a cluster, so that a later command can
// use or end it. It holds the token: the file is for its owner alone.
type Record struct {
	ID          string            `json:"id"`
	Created     time.Time         `json:"created"`
	Holder      Holder            `json:"holder"`
	Owner       process.ID        `json:"owner"` // meaningful while a run holds it
	RunDir      string            `json:"runDir,omitempty"`
	Interpreter string            `json:"interpreter"`
	Layout      Layout            `json:"layout"`
	Endpoint    target.Endpoint   `json:"endpoint"`
	Agents      map[string]string `json:"agents"`  // by node name, the base URL of its agent, which serves log files
	GCS         string            `json:"gcs"`     // address of Ray's control service, "127.0.0.1:6379"
	TempDir     string            `json:"tempDir"` // each node's session folder lies below
	Leaders     []process.ID      `json:"leaders"` // one for each Ray node, head first
}

// Orphan tells whether the run that held the cluster died without ending it.
func (r Record) Orphan() bool { return r.Holder == HeldByRun && !r.Owner.Alive() }

// Facts of the cluster.
func (r Record) Facts() target.Facts {
	hosts := 1
	if r.Layout.AsHosts {
		hosts = r.Layout.Nodes()
	}
	return target.Facts{Nodes: r.Layout.Nodes(), WorkersPerNode: r.Layout.WorkersPerNode, GPUs: r.Layout.TotalGPUs(), Hosts: hosts}
}

func (r Record) family() process.Family {
	return process.Family{Leaders: r.Leaders, Mark: markName + "=" + r.ID}
}

// Dir is where this machine's clusters are written down below a user's state
// folder. Several machines may share a home folder, and one must not take
// another's processes for dead: each has a folder of its own.
func Dir(ctx context.Context, state string) string {
	return filepath.Join(state, "trainyard", machine(ctx), "clusters")
}

// machine names this machine: by an id that stays, else by its host name.
func machine(ctx context.Context) string {
	if id, err := host.HostIDWithContext(ctx); err == nil && id != "" {
		return id
	}
	if name, err := os.Hostname(); err == nil {
		return filepath.Base(name)
	}
	return "unnamed"
}

// Store is the folder in which this user's local clusters are written down:
// one folder a cluster, gone with the cluster.
type Store struct {
	Dir     string   // made when it is missing
	Environ []string // what Ray's processes inherit, NAME=value
}

func (s Store) path(id, name string) string { return filepath.Join(s.Dir, id, name) }

// Get reads one cluster's record; the error is fs.ErrNotExist where there is
// no such cluster.
func (s Store) Get(id string) (Record, error) {
	data, err := os.ReadFile(s.path(id, "cluster.json"))
	if err != nil {
		return Record{}, fmt.Errorf("reading cluster %q: %w", id, err)
	}
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("reading cluster %q: %w", id, err)
	}
	return r, nil
}

// List reads all records that can be read.
func (s Store) List() ([]Record, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing local clusters: %w", err)
	}
	var records []Record
	for _, entry := range entries {
		if r, err := s.Get(entry.Name()); err == nil {
			records = append(records, r)
		}
	}
	return records, nil
}

func (s Store) put(r Record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("writing cluster %q: %w", r.ID, err)
	}
	if err := renameio.WriteFile(s.path(r.ID, "cluster.json"), data, 0o600); err != nil {
		return fmt.Errorf("writing cluster %q: %w", r.ID, err)
	}
	return nil
}

// Change rewrites one record while no other process does, and returns what
// was written. change may refuse by an error, which is returned as it is.
func (s Store) Change(id string, change func(*Record) error) (Record, error) {
	lock := flock.New(s.path(id, "lock"))
	if err := lock.Lock(); err != nil {
		return Record{}, fmt.Errorf("locking cluster %q: %w", id, err)
	}
	defer func() { _ = lock.Unlock() }()
	r, err := s.Get(id)
	if err != nil {
		return Record{}, err
	}
	if err := change(&r); err != nil {
		return Record{}, err
	}
	return r, s.put(r)
}
