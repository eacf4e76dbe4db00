// Package leftover counts what local clusters leave behind once they have
// ended: processes, folders, and objects in shared memory.
//
// A process is known by the session that a cluster's record names, by the mark
// in its environment, or by its ancestors. One of these alone would not do:
// Ray's processes write their titles over their environment.
package leftover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	gopsutil "github.com/shirou/gopsutil/v4/process"

	"github.com/trainyard/trainyard/internal/process"
	"github.com/trainyard/trainyard/internal/target/local"
)

const (
	interval = 100 * time.Millisecond
	// patience is how long the system may take to clear away what was ended.
	patience = 10 * time.Second

	sharedMemory = "/dev/shm"
)

// Watch follows the clusters of one store from before they start until after
// they have ended.
type Watch struct {
	store  local.Store
	mark   string
	before map[string]bool // in shared memory
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu   sync.Mutex
	seen map[string]local.Record
}

// Begin starts to watch. mark is a NAME=value that only processes under test
// have in their environment; it may be empty.
func Begin(store local.Store, mark string) (*Watch, error) {
	before, err := names(sharedMemory)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &Watch{store: store, mark: mark, before: before, stop: stop, seen: map[string]local.Record{}}
	w.done.Go(func() { w.follow(ctx) })
	return w, nil
}

func (w *Watch) follow(ctx context.Context) {
	for ctx.Err() == nil {
		w.look()
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}

// look remembers the clusters that there are now, with their newest records.
func (w *Watch) look() {
	records, err := w.store.List()
	if err != nil {
		return // the folder is being made
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range records {
		w.seen[r.ID] = r
	}
}

// Clusters is how many clusters there were.
func (w *Watch) Clusters() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// Left says what is left of the clusters, and with marked also of everything
// else that carries the mark: one line a thing.
func (w *Watch) Left(marked bool) ([]string, error) {
	deadline := time.Now().Add(patience)
	for {
		left, err := w.count(marked)
		if len(left) == 0 || err != nil || time.Now().After(deadline) {
			return left, err
		}
		time.Sleep(interval)
	}
}

// End stops watching and kills whatever process is left, so that a failed test
// does not disturb the next one.
func (w *Watch) End(ctx context.Context) error {
	w.stop()
	w.done.Wait()
	var problems []error
	for _, family := range w.families(true) {
		problems = append(problems, family.End(ctx))
	}
	return errors.Join(problems...)
}

func (w *Watch) count(marked bool) ([]string, error) {
	var left []string
	ours := map[int]bool{}
	for _, family := range w.families(marked) {
		members, err := family.Members()
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if !ours[m.PID] {
				left = append(left, fmt.Sprintf("process %d: %s", m.PID, commandLine(m.PID)))
			}
			ours[m.PID] = true
		}
	}
	entries, err := names(w.store.Dir)
	if err != nil {
		return nil, err
	}
	for id := range entries {
		left = append(left, "record "+filepath.Join(w.store.Dir, id))
	}
	left = append(left, w.folders()...)
	objects, err := w.objects(ours)
	return append(left, objects...), err
}

func (w *Watch) families(marked bool) []process.Family {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []process.Family
	if marked && w.mark != "" {
		all = append(all, process.Family{Mark: w.mark})
	}
	for id, r := range w.seen {
		all = append(all, process.Family{Leaders: r.Leaders, Mark: "TRAINYARD_CLUSTER=" + id})
	}
	return all
}

func (w *Watch) folders() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var left []string
	for _, r := range w.seen {
		if _, err := os.Stat(r.TempDir); !errors.Is(err, fs.ErrNotExist) {
			left = append(left, "folder "+r.TempDir)
		}
	}
	return left
}

// objects lists what is new in shared memory and not in use by the processes
// of somebody else, who may work on this machine at the same time.
func (w *Watch) objects(ours map[int]bool) ([]string, error) {
	now, err := names(sharedMemory)
	if err != nil {
		return nil, err
	}
	var left []string
	for name := range now {
		path := filepath.Join(sharedMemory, name)
		if !w.before[name] && !usedByOthers(path, ours) {
			left = append(left, "object "+path)
		}
	}
	return left, nil
}

func usedByOthers(path string, ours map[int]bool) bool {
	all, err := gopsutil.Processes()
	if err != nil {
		return false
	}
	for _, p := range all {
		if ours[int(p.Pid)] {
			continue
		}
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.Pid))
		if err == nil && strings.Contains(string(maps), path) {
			return true
		}
	}
	return false
}

func commandLine(pid int) string {
	p, err := gopsutil.NewProcess(int32(pid))
	if err != nil {
		return "(gone)"
	}
	line, err := p.Cmdline()
	if err != nil {
		return "(gone)"
	}
	return line[:min(len(line), 200)]
}

// names lists a folder; a system without it has nothing there.
func names(dir string) (map[string]bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("looking for leftovers: %w", err)
	}
	all := make(map[string]bool, len(entries))
	for _, entry := range entries {
		all[entry.Name()] = true
	}
	return all, nil
}
