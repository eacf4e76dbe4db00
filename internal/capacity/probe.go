package capacity

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

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
	Now      func() time.Time
	// Hard ends when the user will not wait any longer, not even for tidying up.
	Hard context.Context //nolint:containedctx // its life is the command's
}

// Run probes the zones of rows in their order and hands over each with what was
// found. It stops at the first that succeeds, unless All is set. All that was
// reserved is cancelled when it returns, but for one that is kept; what could
// not be cancelled is said in the rows and in the error.
func (p Prober) Run(ctx context.Context, rows []Row, have func(Row)) error {
	var problems []error
	success := false
	for len(rows) > 0 && ctx.Err() == nil && (p.All || !success) {
		var wave []Row
		wave, rows = nextWave(rows, p.AtOnce)
		for _, row := range p.wave(ctx, wave, p.Keep && !success) {
			success = success || row.Stock.Outcome == Proven
			if row.Stock.Left != "" {
				problems = append(problems, fmt.Errorf("cancelling capacity reservation %s in %s: %s; AWS ends it within an hour after %s",
					row.Stock.Left, row.Region, row.Stock.Why, row.Stock.Until.UTC().Format("15:04 UTC")))
			}
			have(row)
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

// wave probes zones at once, and then keeps the first success, if wanted, and
// cancels the others.
func (p Prober) wave(ctx context.Context, rows []Row, keep bool) []Row {
	var all sync.WaitGroup
	for i := range rows {
		all.Go(func() { rows[i].Stock = p.reserve(ctx, rows[i]) })
	}
	all.Wait()
	for i := range rows {
		f := rows[i].Stock
		if f.Reservation == "" {
			continue
		}
		if keep && f.Outcome == Proven && ctx.Err() == nil && p.keep(ctx, rows[i]) {
			keep = false
			continue
		}
		p.release(rows[i].Region, f)
	}
	return rows
}

// keep marks a reservation as kept, from when on no sweep takes it away.
func (p Prober) keep(ctx context.Context, row Row) bool {
	_, err := p.Session.EC2(row.Region).CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: []string{row.Stock.Reservation}, Tags: []types.Tag{tag(TagKept, "true"), tag("Name", "trainyard "+p.Me.Owner)},
	})
	if err != nil {
		row.Stock.Why = "not kept, since it could not be tagged: " + awsapi.Brief(err)
	}
	return err == nil
}

// cleanUp is how long tidying up may take.
const cleanUp = 90 * time.Second

// release cancels what was reserved. An interrupt does not stop it: that is
// what it is for.
func (p Prober) release(region string, f *Finding) {
	ctx, cancel := context.WithTimeout(p.Hard, cleanUp)
	defer cancel()
	if err := Release(ctx, p.Session, region, f.Reservation); err != nil {
		f.Left, f.Why = f.Reservation, awsapi.Brief(err)
	} else {
		f.Until = time.Time{}
	}
	f.Reservation = ""
}
