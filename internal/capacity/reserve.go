package capacity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/wait"
)

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
