package capacity

import (
	"cmp"
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
func (p Prober) reserve(ctx context.Context, t *trial) {
	f := &Finding{At: p.Now()}
	t.row.Stock = f
	if ctx.Err() != nil {
		f.Outcome, f.Why = Unproven, "interrupted"
		return
	}
	t.until = p.Now().Add(p.Reserve)
	made, err := p.create(t)
	if err != nil && t.lost {
		made, err = p.found(t, err)
	}
	if err != nil {
		p.refused(t, err)
		return
	}
	t.lost, f.Reservation, f.Until = false, made.ID, t.until
	p.assessed(ctx, t.row, made)
}

// create makes the reservation. An interrupt does not cut it: AWS would have
// made what we do not know the name of.
func (p Prober) create(t *trial) (Reservation, error) {
	ctx, cancel := p.tidying(cmp.Or(p.createLimit, longestCreate))
	defer cancel()
	token := p.Me.Run + "-" + t.row.Zone + "-" + rand.Text()[:8]
	out, err := p.Session.EC2(t.row.Region).CreateCapacityReservation(ctx, &ec2.CreateCapacityReservationInput{
		AvailabilityZone:      &t.row.Zone,
		InstanceType:          &t.row.Type,
		InstanceCount:         aws.Int32(int32(p.Need.Nodes)), //nolint:gosec // at most config.MaxNodes
		InstancePlatform:      types.CapacityReservationInstancePlatformLinuxUnix,
		InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted,
		EndDateType:           types.EndDateTypeLimited,
		EndDate:               &t.until,
		ClientToken:           aws.String(token[max(len(token)-64, 0):]),
		TagSpecifications:     []types.TagSpecification{{ResourceType: types.ResourceTypeCapacityReservation, Tags: p.Me.tags(p.Now(), t.until)}},
	}, noticeLost(&t.lost))
	if err != nil {
		return Reservation{}, err
	}
	return readReservation(*out.CapacityReservation), nil
}

// refused says what it means that there is no reservation, as far as we know.
func (p Prober) refused(t *trial, err error) {
	f := t.row.Stock
	f.Outcome, f.Why = Unproven, awsapi.Brief(err)
	if errors.Is(err, context.Canceled) {
		f.Why = "interrupted"
	}
	if t.lost { // what AWS says last may be because of what it has made
		f.Why += "; AWS may have made the reservation nevertheless"
		return
	}
	switch awsapi.KindOf(err) {
	case awsapi.NoCapacity:
		f.Outcome, f.Why = NoStock, fmt.Sprintf("AWS has no %d of them at the moment", p.Need.Nodes)
	case awsapi.OverQuota:
		f.Outcome, f.Why = NoQuota, "refused for quota, so nothing is known of the stock"
	case awsapi.Unsupported:
		f.Outcome = NotHere
	default:
	}
}

// assessed waits until AWS has decided, and meanwhile says that we live. Only a
// reservation that is active proves something: AWS gives one up, in a state of
// its own, for stock, for quota or for what was asked for, and does not say why.
func (p Prober) assessed(ctx context.Context, row Row, v Reservation) {
	api, beat, f := p.Session.EC2(row.Region), p.Now(), row.Stock
	look := func(ctx context.Context) (bool, string, error) {
		switch {
		case v.State == types.CapacityReservationStateActive:
			f.Outcome = Proven
			return true, "", nil
		case !v.undecided():
			f.Outcome, f.Why = Unproven, fmt.Sprintf("AWS says that the reservation is %s, and not why", v.State)
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
		f.Outcome, f.Why = Assessing, fmt.Sprintf("AWS had not decided after %s: the reservation was %s", p.Patience, v.State)
	default:
		f.Outcome, f.Why = Unproven, inBrief(ctx, err)
	}
}

// beat says in the reservation's tag that its command lives. A tag that could
// not be written is written at the next beat.
func (p Prober) beat(ctx context.Context, region, id string) {
	_ = setTags(ctx, p.Session.EC2(region), id, tag(TagHeartbeat, p.Now().UTC().Format(time.RFC3339)))
}

func setTags(ctx context.Context, api awsapi.Reservations, id string, tags ...types.Tag) error {
	_, err := api.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: tags})
	return err
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

// inBrief says why something was not done, which may be that nobody waited.
func inBrief(ctx context.Context, err error) string {
	if context.Cause(ctx) == context.Canceled || context.Cause(ctx) == ErrHungUp { //nolint:errorlint // as they are
		return "interrupted"
	}
	return awsapi.Brief(err)
}
