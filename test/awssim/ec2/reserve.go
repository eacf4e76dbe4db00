package ec2

import (
	"cmp"
	"slices"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// activate takes what a reservation reserves, if quota and stock let it.
func (s *Service) activate(a *world.Account, region string, v *Reservation, now time.Time) error {
	inside := s.in(a.ID, region).absorbed(v)
	more := v.Total - len(inside)
	if err := s.mayReserve(a, region, v, more, now); err != nil {
		return err
	}
	for _, i := range inside {
		i.ReservationID = v.id
	}
	s.world.Take(v.AvailabilityZoneID, v.InstanceType, more)
	v.State, v.Available, v.heldAt = held, more, now
	s.start(a.ID, region, v, now)
	return nil
}

// absorbed is the instances that run already and that a new open reservation
// takes in, as many as it has places: they need nothing more of quota or stock,
// and prove nothing about either.
func (r *region) absorbed(v *Reservation) (inside []*Instance) {
	for _, i := range r.Instances {
		fits := i.runs() && i.Lifecycle == "" && i.ReservationID == "" && i.InstanceType == v.InstanceType && i.zone == v.AvailabilityZoneID
		if fits && v.MatchCriteria == "open" && len(inside) < v.Total {
			inside = append(inside, i)
		}
	}
	return inside
}

// start makes a reservation active once it has been pending for long enough.
func (s *Service) start(account, region string, v *Reservation, now time.Time) {
	if ready := v.heldAt.Add(time.Duration(s.world.Conditions.Pending)); v.State == held && !now.Before(ready) {
		v.State, v.StartDate = active, ready
		s.billReservation(account, region, v, ready)
	}
}

// mayReserve tells whether quota and stock have room for more instances.
func (s *Service) mayReserve(a *world.Account, region string, v *Reservation, more int, now time.Time) error {
	t := s.world.Facts.Types[v.InstanceType]
	if !slices.Contains(t.UsageClasses(), "on-demand") || t.USD == 0 {
		return wire.Errorf("Unsupported", "The instance type %s is not supported for On-Demand Capacity Reservations.", v.InstanceType)
	}
	if room, limit := s.room(a, region, v.InstanceType, false); room < more {
		return wire.Errorf("InstanceLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %.0f allows for the instance bucket "+
			"that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.", limit)
	}
	if s.world.Free(v.AvailabilityZoneID, v.InstanceType, now) < more {
		return insufficient(v.InstanceType, v.AvailabilityZone)
	}
	return nil
}

// use takes places of a reservation for instances, or gives them back.
func (s *Service) use(account, region string, v *Reservation, count int, now time.Time) {
	v.Available -= count
	s.billReservation(account, region, v, now)
}

// billReservation sets that what no instance uses is paid for.
func (s *Service) billReservation(account, region string, v *Reservation, now time.Time) {
	if v.Type == capacityBlock {
		return
	}
	unused := v.Available
	if v.State != active {
		unused = 0
	}
	s.bill(account, region, v.id, "reservation", v.InstanceType, unused, s.price(region, v.InstanceType, false, ""), now)
}

// finish ends a reservation. Instances in it go on, paid for as others are.
func (s *Service) finish(account, region string, v *Reservation, state string, now time.Time) {
	if v.State == active || v.State == held {
		s.world.Take(v.AvailabilityZoneID, v.InstanceType, -v.Available)
	}
	v.State, v.Available = state, 0
	s.billReservation(account, region, v, now)
}

// openReservation is one that matches instances without being named.
func (r *region) openReservation(instanceType, zone string, count int) *Reservation {
	for _, v := range r.Reservations {
		if v.State == active && v.MatchCriteria == "open" && v.InstanceType == instanceType && v.AvailabilityZoneID == zone && v.Available >= count {
			return v
		}
	}
	return nil
}

// settleReservation brings a reservation to where it is by now.
func (s *Service) settleReservation(key place, v *Reservation, now time.Time) {
	if v.Type == capacityBlock {
		s.settleBlock(key, v, now)
		return
	}
	if v.State == assessing {
		if ready := v.CreateDate.Add(time.Duration(s.world.Conditions.Assessing)); !now.Before(ready) {
			if err := s.activate(s.account(key.account), key.region, v, ready); err != nil {
				v.State = "failed"
			}
		}
	}
	s.start(key.account, key.region, v, now)
	if end := v.EndDate.Add(time.Duration(s.world.Conditions.LateEnd)); !v.EndDate.IsZero() && !now.Before(end) && v.open() {
		s.finish(key.account, key.region, v, "expired", end)
	}
}

// open tells whether the reservation has not ended.
func (v *Reservation) open() bool {
	return v.State == active || v.State == held || v.State == assessing
}

// Open lists the reservations of all accounts and regions that have not ended,
// from the oldest; the world is locked.
func (s *Service) Open() (all []Reservation) {
	for _, r := range s.regions {
		for _, v := range r.Reservations {
			if v.open() {
				all = append(all, *v)
			}
		}
	}
	slices.SortFunc(all, func(a, b Reservation) int {
		return cmp.Or(a.CreateDate.Compare(b.CreateDate), cmp.Compare(a.ARN, b.ARN))
	})
	return all
}

func (s *Service) account(id string) *world.Account {
	i := slices.IndexFunc(s.world.Accounts, func(a *world.Account) bool { return a.ID == id })
	return s.world.Accounts[i]
}
