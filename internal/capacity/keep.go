package capacity

import (
	"context"
	"fmt"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/wait"
)

// keep marks a reservation as kept, from when on no sweep takes it away. One
// that cannot be kept is cancelled.
func (p Prober) keep(ctx context.Context, t *trial) {
	if t == nil {
		return
	}
	err := p.mark(ctx, t)
	if err == nil {
		return
	}
	id, f := t.row.Stock.Reservation, t.row.Stock
	f.Why = "not kept: " + inBrief(ctx, err)
	p.release(t)
	if t.problem == nil && ctx.Err() == nil {
		t.problem = awsapi.Explain(fmt.Errorf("keeping capacity reservation %s in %s, which is cancelled now: %w", id, t.row.Region, err))
	}
}

// mark sets the tag of those that are kept. AWS may not know for a moment what
// it has made; and where its answer was lost, the tag itself tells.
func (p Prober) mark(ctx context.Context, t *trial) error {
	if context.Cause(ctx) == ErrHungUp { //nolint:errorlint // as it is
		tidying, cancel := p.tidying(cleanUp)
		defer cancel()
		ctx = tidying
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.marked = true
	api, id := p.Session.EC2(t.row.Region), t.row.Stock.Reservation
	return wait.For(ctx, wait.Options{Interval: settleInterval, Timeout: settleTimeout}, func(ctx context.Context) (bool, string, error) {
		err := setTags(ctx, api, id, tag(TagKept, "true"), tag("Name", "trainyard "+p.Me.Owner))
		if err == nil {
			return true, "", nil
		}
		v, unseen := oneReservation(ctx, api, id)
		switch {
		case unseen == nil && v.Kept:
			return true, "", nil
		case awsapi.KindOf(err) == awsapi.NotFound, awsapi.KindOf(unseen) == awsapi.NotFound:
			return false, "AWS does not know it", nil
		}
		return false, "", err
	})
}

// unmark takes the mark of those that are kept from one that could not be
// cancelled, so that a later command sweeps it.
func (p Prober) unmark(t *trial, id string) error {
	ctx, cancel := p.tidying(cleanUp)
	defer cancel()
	return setTags(ctx, p.Session.EC2(t.row.Region), id, tag(TagKept, "false"), tag("Name", probeName))
}
