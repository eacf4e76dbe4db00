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

// DeadProbes are the reservations that the same owner's dead commands left.
func (f Found) DeadProbes(me Me, now time.Time) []Reservation {
	var dead []Reservation
	for _, regions := range [][]Region{f.Regions, f.Others} {
		for _, r := range regions {
			for _, v := range r.Reservations {
				v.Region = r.Name
				if v.Dead(me, now) {
					dead = append(dead, v)
				}
			}
		}
	}
	return dead
}

// Kept are the reservations that this owner keeps for launches.
func (f Found) Kept(owner string) []Reservation {
	var kept []Reservation
	for _, r := range f.Regions {
		for _, v := range r.Reservations {
			v.Region = r.Name
			if v.KeptBy(owner) {
				kept = append(kept, v)
			}
		}
	}
	return kept
}

// Release cancels a reservation. One that is gone already is fine; one that AWS
// does not know yet, though it has made it, is waited for.
func Release(ctx context.Context, session *awsapi.Session, region, id string) error {
	err := wait.For(ctx, wait.Options{Interval: settleInterval, Timeout: settleTimeout}, func(ctx context.Context) (bool, string, error) {
		err := cancel(ctx, session.EC2(region), id)
		if awsapi.KindOf(err) == awsapi.NotFound {
			return false, "AWS does not know it", nil
		}
		return err == nil, "", err
	})
	if err != nil {
		return fault.WithHint(CancelCommand(session.Profile, region, id), fmt.Errorf("cancelling capacity reservation %s in %s: %w", id, region, err))
	}
	return nil
}

const (
	settleInterval = 500 * time.Millisecond
	settleTimeout  = 45 * time.Second
)

func cancel(ctx context.Context, api awsapi.Reservations, id string) error {
	_, err := api.CancelCapacityReservation(ctx, &ec2.CancelCapacityReservationInput{CapacityReservationId: &id})
	if err == nil {
		return nil
	}
	// One that has ended cannot be cancelled: look before saying so.
	out, lookErr := api.DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{id}})
	if lookErr != nil {
		return errors.Join(err, lookErr)
	}
	for _, v := range out.CapacityReservations {
		if !readReservation(v).live() {
			return nil
		}
	}
	return err
}
