package capacity

import (
	"context"
	"errors"
	"time"

	"github.com/trainyard/trainyard/internal/awsapi"
)

// Prober proves that there is On-Demand stock, by a capacity reservation for
// the whole count of nodes in one zone. It is targeted, so that no instance that
// runs already slips into it, and ends by itself should nobody cancel it.
type Prober struct {
	Session *awsapi.Session
	Me      Me
	Need    Need
	Reserve time.Duration // after which, within an hour, a reservation ends by itself
	Keep    bool          // leave the best one that succeeds for a launch
	All     bool          // go on after the first that succeeds
	AtOnce  int           // zones at once, of different regions
	// Patience is how long AWS may assess a request.
	Patience time.Duration
	// Hidden is how long AWS may not show what it has made.
	Hidden time.Duration
	Now    func() time.Time
	// Hard ends when the user will not wait any longer, not even for tidying up.
	Hard context.Context //nolint:containedctx // its life is the command's

	createLimit time.Duration // for a reservation to be made; 0: longestCreate
}

// ErrHungUp is the cause of a context that has ended because the terminal is
// gone. Other than after a Ctrl-C, what has succeeded by then is still kept.
var ErrHungUp = errors.New("the terminal has hung up")

// How long things may take.
const (
	// longestCreate is for a reservation to be made.
	longestCreate = 90 * time.Second
	// cleanUp is for tidying up.
	cleanUp = 90 * time.Second
	// lastTidying is for tidying up that begins when the user waits no longer.
	lastTidying = 15 * time.Second
)

// Run probes the zones of rows in their order and hands over each with what was
// found. It stops at the first that succeeds, unless All is set, and where
// something is, or may be, left behind. All that was reserved is cancelled when
// it returns, but for one that is kept; what could not be cancelled, what may
// have been made without our knowing, and that nothing could be kept, is said
// in the rows and in the error.
func (p Prober) Run(ctx context.Context, rows []Row, have func(Row)) error {
	var problems []error
	var lost []*trial
	success := false
	for len(rows) > 0 && ctx.Err() == nil && len(problems)+len(lost) == 0 && (p.All || !success) {
		var wave []Row
		wave, rows = nextWave(rows, p.AtOnce)
		for _, t := range p.wave(ctx, wave, p.Keep && !success) {
			success = success || t.row.Proven()
			if t.problem != nil {
				problems = append(problems, t.problem)
			}
			if t.lost {
				lost = append(lost, t)
			}
			have(t.row)
		}
	}
	for _, t := range lost {
		if err := p.lookAgain(t); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(append(problems, ctx.Err())...)
}

// nextWave takes up to n rows, of different regions: two in one region would
// take each other's quota.
func nextWave(rows []Row, n int) (wave, rest []Row) {
	busy := map[string]bool{}
	for _, r := range rows {
		if len(wave) < max(n, 1) && !busy[r.Region] {
			busy[r.Region] = true
			wave = append(wave, r)
			continue
		}
		rest = append(rest, r)
	}
	return wave, rest
}

// tidying is the context of what has to be done whatever happens. A Ctrl-C does
// not end it, the next one does; what begins after that has little time.
func (p Prober) tidying(limit time.Duration) (context.Context, context.CancelFunc) {
	if p.Hard.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(p.Hard), lastTidying)
	}
	return context.WithTimeout(p.Hard, limit)
}
