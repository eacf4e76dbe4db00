package capacity

import (
	"context"
	"sync"
	"time"
)

// trial is a zone that is probed. Its row's finding has the reservation as long
// as there is one.
type trial struct {
	row     Row
	place   int       // in the order of zones
	until   time.Time // the end date of its reservation
	lost    bool      // AWS may have made a reservation that we do not know of
	marked  bool      // the reservation may carry the mark of those that are kept
	problem error     // what the user has to know beyond the row
}

// wave probes zones at once. Each reservation is cancelled as soon as it has
// proven something, but for the one that is to be kept: the first in the order
// of zones, which is not known before the zones ahead of it are.
func (p Prober) wave(ctx context.Context, rows []Row, keep bool) []*trial {
	var all sync.WaitGroup
	var best candidate
	trials := make([]*trial, len(rows))
	for i := range rows {
		t := &trial{row: rows[i], place: i}
		trials[i] = t
		all.Go(func() {
			p.reserve(ctx, t)
			if keep && t.row.Proven() {
				t = best.or(t)
			}
			p.release(t)
		})
	}
	all.Wait()
	p.keep(ctx, best.trial)
	return trials
}

// candidate is the best success of a wave so far.
type candidate struct {
	mu    sync.Mutex
	trial *trial
}

// or takes the trial if it is better, and returns the one that is not wanted, or
// nil.
func (c *candidate) or(t *trial) *trial {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trial == nil || t.place < c.trial.place {
		t, c.trial = c.trial, t
	}
	return t
}
