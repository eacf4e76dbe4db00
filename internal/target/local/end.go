package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// endTimeout is how long killed processes may take to be gone.
const endTimeout = 30 * time.Second

// End kills a cluster's processes and removes its folders. It may be called
// again for a cluster that is gone. ctx should outlive the interrupt that asks
// for the end.
func (s Store) End(ctx context.Context, r Record) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	if err := r.family().End(ctx); err != nil {
		return fmt.Errorf("ending local cluster %q: %w", r.ID, err)
	}
	err := removeTempDir(r.TempDir)
	if r.ID != "" {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.Dir, r.ID)))
	}
	if err != nil {
		return fmt.Errorf("removing what local cluster %q left: %w", r.ID, err)
	}
	return nil
}

// removeTempDir removes only what makeTempDir makes, whatever a record says.
func removeTempDir(dir string) error {
	if !strings.HasPrefix(dir, fmt.Sprintf("/tmp/ty%d-", os.Getuid())) || filepath.Clean(dir) != dir {
		return nil
	}
	return os.RemoveAll(dir)
}

// Ended is a cluster that was ended, with how many processes it had.
type Ended struct {
	Record
	Processes int
}

// EndOrphans ends every cluster whose run died without ending it. It returns
// those it ended, also where others could not be.
func (s Store) EndOrphans(ctx context.Context) ([]Ended, error) {
	records, err := s.List()
	if err != nil {
		return nil, err
	}
	var ended []Ended
	var problems []error
	for _, r := range records {
		if !r.Orphan() {
			continue
		}
		processes, err := r.Processes()
		if err == nil {
			err = s.End(ctx, r)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		ended = append(ended, Ended{r, processes})
	}
	return ended, errors.Join(problems...)
}

// Processes counts the processes of a cluster that run now.
func (r Record) Processes() (int, error) {
	members, err := r.family().Members()
	return len(members), err
}
