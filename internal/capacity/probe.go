package capacity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/wait"
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

// reserve makes a reservation and waits until AWS has decided. The one that
// there is, whatever became of it, is the finding's.
func (p Prober) reserve(ctx context.Context, row Row) *Finding {
	f := &Finding{At: p.Now()}
	if err := ctx.Err(); err != nil {
		f.Outcome, f.Why = Unproven, "interrupted"
		return f
	}
	until := p.Now().Add(p.Reserve)
	// An interrupt must not cut this call: AWS would have made what we do not know
	// the name of.
	creating, cancel := context.WithTimeout(p.Hard, cleanUp)
	defer cancel()
	made, err := p.create(creating, row, until)
	if err != nil {
		p.refused(f, err)
		if f.Outcome == Unproven && mayBeMade(err) {
			f.Until = until
			if f.Reservation = p.find(creating, row); f.Reservation == "" {
				f.Why += "; if AWS made one nevertheless, it ends by itself within an hour after " + until.UTC().Format(time.RFC3339)
			}
		}
		return f
	}
	f.Reservation, f.Until = made.ID, until
	p.assessed(ctx, row, made, f)
	return f
}

func (p Prober) create(ctx context.Context, row Row, until time.Time) (Reservation, error) {
	token := p.Me.Run + "-" + row.Zone + "-" + rand.Text()[:8]
	out, err := p.Session.EC2(row.Region).CreateCapacityReservation(ctx, &ec2.CreateCapacityReservationInput{
		AvailabilityZone:      &row.Zone,
		InstanceType:          &row.Type,
		InstanceCount:         aws.Int32(int32(p.Need.Nodes)), //nolint:gosec // at most config.MaxNodes
		InstancePlatform:      types.CapacityReservationInstancePlatformLinuxUnix,
		InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted,
		EndDateType:           types.EndDateTypeLimited,
		EndDate:               &until,
		ClientToken:           aws.String(token[max(len(token)-64, 0):]),
		TagSpecifications:     []types.TagSpecification{{ResourceType: types.ResourceTypeCapacityReservation, Tags: p.Me.tags(p.Now(), until)}},
	})
	if err != nil {
		return Reservation{}, err
	}
	return readReservation(*out.CapacityReservation), nil
}

// refused says what a refusal means.
func (p Prober) refused(f *Finding, err error) {
	f.Why = awsapi.Brief(err)
	switch awsapi.KindOf(err) {
	case awsapi.NoCapacity:
		f.Outcome, f.Why = NoStock, fmt.Sprintf("AWS has no %d of them at the moment", p.Need.Nodes)
	case awsapi.OverQuota:
		f.Outcome, f.Why = NoQuota, "refused for quota, so nothing is known of the stock"
	case awsapi.Unsupported:
		f.Outcome = NotHere
	default:
		f.Outcome = Unproven
	}
}

// mayBeMade tells whether AWS may have done what it did not confirm.
func mayBeMade(err error) bool {
	switch awsapi.KindOf(err) {
	case awsapi.Late, awsapi.Unreachable, awsapi.Server:
		return true
	default:
		return errors.Is(err, context.Canceled)
	}
}

// find looks for a reservation of this command's that was not confirmed.
func (p Prober) find(ctx context.Context, row Row) string {
	all, err := reservationsIn(ctx, p.Session.EC2(row.Region), filter("tag:"+TagRun, p.Me.Run), filter("availability-zone", row.Zone))
	if err != nil || len(all) == 0 {
		return ""
	}
	return all[0].ID
}

// assessed waits until AWS has decided, and meanwhile says that we live.
func (p Prober) assessed(ctx context.Context, row Row, v Reservation, f *Finding) {
	api, beat := p.Session.EC2(row.Region), p.Now()
	look := func(ctx context.Context) (bool, string, error) {
		switch v.State {
		case types.CapacityReservationStateActive:
			f.Outcome = Proven
			return true, "", nil
		case types.CapacityReservationStateAssessing, types.CapacityReservationStatePending, types.CapacityReservationStateScheduled:
		default:
			f.Outcome, f.Why = NoStock, "AWS has assessed the request and says "+string(v.State)
			return true, "", nil
		}
		if p.Now().Sub(beat) >= beatEvery {
			beat = p.Now()
			p.beat(ctx, row.Region, v.ID)
		}
		now, err := oneReservation(ctx, api, v.ID)
		if err == nil {
			v = now
		} else if awsapi.KindOf(err) != awsapi.NotFound { // which it is for a moment
			return false, "", err
		}
		return false, string(v.State), nil
	}
	err := wait.For(ctx, wait.Options{Interval: settleInterval, Timeout: p.Patience}, look)
	switch {
	case err == nil:
	case wait.IsTimeout(err):
		f.Outcome, f.Why = Assessing, fmt.Sprintf("AWS had not decided after %s", p.Patience)
	case ctx.Err() != nil:
		f.Outcome, f.Why = Unproven, "interrupted"
	default:
		f.Outcome, f.Why = Unproven, awsapi.Brief(err)
	}
}

// beat says in the reservation's tag that its command lives. A tag that could
// not be written is written at the next beat.
func (p Prober) beat(ctx context.Context, region, id string) {
	_, _ = p.Session.EC2(region).CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: []string{id}, Tags: []types.Tag{tag(TagHeartbeat, p.Now().UTC().Format(time.RFC3339))},
	})
}

func oneReservation(ctx context.Context, api awsapi.Reservations, id string) (Reservation, error) {
	out, err := api.DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{id}})
	switch {
	case err != nil:
		return Reservation{}, fmt.Errorf("looking at capacity reservation %s: %w", id, err)
	case len(out.CapacityReservations) == 0:
		return Reservation{}, fmt.Errorf("looking at capacity reservation %s: AWS does not show it", id)
	}
	return readReservation(out.CapacityReservations[0]), nil
}

// Bill is what probing costs.
type Bill struct {
	AtMost float64 // USD, if this machine dies at once and nothing is cancelled
	Usual  float64 // USD, where all is cancelled at once: AWS bills a minute of each
	Zones  int     // that are probed at most
	Known  bool    // the prices of all are
}

// EndsWithin is how long after its end date a reservation may last. Source: the
// reference of CreateCapacityReservation, EndDate.
const EndsWithin = time.Hour

// minimumBilled is the least that AWS bills of a reservation. Source: EC2's
// pricing by the second.
const minimumBilled = time.Minute

// Bill says what probing the rows would cost at most.
func (p Prober) Bill(rows []Row) Bill {
	b := Bill{Zones: len(rows), Known: true}
	dearest := 0.0
	for _, r := range rows {
		if r.USD == nil {
			b.Known = false
			continue
		}
		hourly := *r.USD * float64(p.Need.Nodes)
		dearest = max(dearest, hourly)
		b.Usual += hourly * minimumBilled.Hours()
	}
	b.AtMost = b.Usual + dearest*(p.Reserve+EndsWithin).Hours()*float64(min(max(p.AtOnce, 1), len(rows)))
	return b
}
