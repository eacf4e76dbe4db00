package ec2

import (
	"cmp"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

type modifyReservationIn struct {
	ID            string `aws:"CapacityReservationId"`
	InstanceCount int
	EndDate       time.Time
	EndDateType   string
	MatchCriteria string `aws:"InstanceMatchCriteria"`
}

func (s *Service) modifyReservation(c *world.Call, in modifyReservationIn) (done, error) {
	v, err := s.changeReservation(c, in.ID)
	if err != nil {
		return done{}, err
	}
	if v.State != active {
		return done{}, wire.Errorf("InvalidCapacityReservationState", "The Capacity Reservation %s is in the state %s and cannot be modified", v.id, v.State)
	}
	end, kind := v.EndDate, v.EndDateType
	if in.EndDateType != "" || !in.EndDate.IsZero() {
		end, kind = in.EndDate, cmp.Or(in.EndDateType, v.EndDateType)
		if err := checkEnd(kind, end, c.Now); err != nil {
			return done{}, err
		}
	}
	if in.InstanceCount > 0 {
		if err := s.resize(c, v, in.InstanceCount); err != nil {
			return done{}, err
		}
	}
	v.EndDate, v.EndDateType, v.MatchCriteria = end, kind, cmp.Or(in.MatchCriteria, v.MatchCriteria)
	return done{true}, nil
}

func (s *Service) resize(c *world.Call, v *Reservation, count int) error {
	more := count - v.Total
	if more > 0 {
		if err := s.mayReserve(c.Account, c.Region, v, more, c.Now); err != nil {
			return err
		}
	}
	if v.Available+more < 0 {
		return wire.Errorf("InvalidParameterValue", "The reservation %s has fewer than %d instances that are not used", v.id, -more)
	}
	s.world.Take(v.AvailabilityZoneID, v.InstanceType, more)
	v.Total, v.Available = count, v.Available+more
	s.billReservation(c.Account.ID, c.Region, v, c.Now)
	return nil
}

// changeReservation finds one that the caller may change and that is On-Demand.
func (s *Service) changeReservation(c *world.Call, id string) (*Reservation, error) {
	v, err := change(c, reservationKind, s.at(c).Reservations, id)
	if err != nil {
		return nil, err
	}
	if v.Type == capacityBlock {
		return nil, wire.Errorf("OperationNotPermitted", "The Capacity Reservation %s is a Capacity Block, which cannot be modified or cancelled", v.id)
	}
	return v, nil
}

type reservationIn struct {
	ID string `aws:"CapacityReservationId"`
}

// cancelReservation ends one that has not ended.
func (s *Service) cancelReservation(c *world.Call, in reservationIn) (done, error) {
	v, err := s.changeReservation(c, in.ID)
	if err != nil {
		return done{}, err
	}
	if !v.open() {
		return done{}, wire.Errorf("InvalidCapacityReservationState", "The Capacity Reservation %s is in the state %s and cannot be cancelled", v.id, v.State)
	}
	s.finish(c.Account.ID, c.Region, v, "cancelled", c.Now)
	return done{true}, nil
}
