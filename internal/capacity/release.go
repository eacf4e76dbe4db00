package capacity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/wait"
)

const (
	settleInterval = 500 * time.Millisecond
	settleTimeout  = cleanUp - 10*time.Second
)

// release cancels what a trial has reserved, if it has. An interrupt does not
// stop it: that is what it is for.
func (p Prober) release(t *trial) {
	if t == nil || t.row.Stock.Reservation == "" {
		return
	}
	f := t.row.Stock
	id := f.Reservation
	f.Reservation = ""
	ctx, cancel := p.tidying(cleanUp)
	defer cancel()
	err := Release(ctx, p.Session, t.row.Region, id)
	if err == nil {
		f.Until, f.Cancelled = time.Time{}, true
		return
	}
	f.Left, f.Why = id, inBrief(ctx, err)
	text := fmt.Sprintf("cancelling capacity reservation %s in %s: %s; AWS ends it within an hour after %s", id, t.row.Region, f.Why, f.Until.UTC().Format("15:04 UTC"))
	if t.marked && p.unmark(t, id) != nil {
		text += "; it may be marked as kept, so that no later command cancels it"
	}
	t.problem = errors.Join(t.problem, fault.WithHint(CancelCommand(p.Session.Profile, t.row.Region, id), errors.New(text)))
}

// Release cancels a reservation that was just made. One that has ended is fine. One
// that AWS does not know yet is waited for, and so is a way to AWS that is lost.
func Release(ctx context.Context, session *awsapi.Session, region, id string) error {
	err := wait.For(ctx, wait.Options{Interval: settleInterval, Timeout: settleTimeout}, func(ctx context.Context) (bool, string, error) {
		err := cancel(ctx, session.EC2(region), id)
		switch awsapi.KindOf(err) {
		case awsapi.NotFound:
			return false, "AWS does not know it", nil
		case awsapi.Unreachable, awsapi.Throttled, awsapi.Server:
			return false, awsapi.Brief(err), nil
		default:
			return err == nil, "", err
		}
	})
	return notCancelled(session, region, id, err)
}

// Sweep cancels a reservation that AWS has listed. One that it does not know any
// longer has ended.
func Sweep(ctx context.Context, session *awsapi.Session, v Reservation) error {
	err := cancel(ctx, session.EC2(v.Region), v.ID)
	if awsapi.KindOf(err) == awsapi.NotFound {
		return nil
	}
	return notCancelled(session, v.Region, v.ID, err)
}

func notCancelled(session *awsapi.Session, region, id string, err error) error {
	if err == nil {
		return nil
	}
	return fault.WithHint(CancelCommand(session.Profile, region, id), fmt.Errorf("cancelling capacity reservation %s in %s: %w", id, region, awsapi.Explain(err)))
}

// cancel ends a reservation; one that has ended already is fine.
func cancel(ctx context.Context, api awsapi.Reservations, id string) error {
	_, err := api.CancelCapacityReservation(ctx, &ec2.CancelCapacityReservationInput{CapacityReservationId: &id})
	if err == nil || awsapi.KindOf(err) == awsapi.NotFound {
		return err
	}
	// One that has ended cannot be cancelled: look before saying so.
	v, unseen := oneReservation(ctx, api, id)
	switch {
	case unseen != nil:
		return errors.Join(err, unseen)
	case v.live():
		return err
	}
	return nil
}
