package ec2

import (
	"slices"
	"strconv"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

var reservationKind = kind{"capacity-reservation", "CapacityReservation ID", "InvalidCapacityReservationId.NotFound"}

// The states of a reservation that take, or will take, capacity; the others
// are pending, scheduled, expired, cancelled and failed.
const (
	active    = "active"
	assessing = "assessing"
	scheduled = "scheduled"
)

// capacityBlock is a type of reservation, and of instances that run in one.
const capacityBlock = "capacity-block"

// Reservation is a capacity reservation: On-Demand, paid for as if instances
// ran from when it is active until it ends, or a Capacity Block, paid for at once.
type Reservation struct {
	meta
	ReservationID      string `aws:"capacityReservationId"`
	ARN                string `aws:"capacityReservationArn"`
	OwnerID            string
	Type               string `aws:"reservationType"` // "default" or "capacity-block"
	InstanceType       string
	Platform           string `aws:"instancePlatform"`
	AvailabilityZone   string
	AvailabilityZoneID string
	Tenancy            string
	Total              int `aws:"totalInstanceCount"`
	Available          int `aws:"availableInstanceCount"`
	EbsOptimized       bool
	EphemeralStorage   bool
	State              string
	StartDate          time.Time
	EndDate            time.Time
	EndDateType        string // "limited" or "unlimited"
	MatchCriteria      string `aws:"instanceMatchCriteria"` // "open" or "targeted"
	CreateDate         time.Time
	PlacementGroupARN  string
	BlockID            string `aws:"capacityBlockId"`
}

type createReservationIn struct {
	ClientToken        string
	InstanceType       string
	InstancePlatform   string
	AvailabilityZone   string
	AvailabilityZoneID string
	Tenancy            string
	InstanceCount      int
	EbsOptimized       bool
	EphemeralStorage   bool
	EndDate            time.Time
	EndDateType        string
	MatchCriteria      string             `aws:"InstanceMatchCriteria"`
	TagSpecifications  []tagSpecification // whose name is plural in this call alone
	PlacementGroupARN  string
}

type reservationOut struct {
	Reservation *Reservation `aws:"capacityReservation"`
}

func (s *Service) createReservation(c *world.Call, in createReservationIn) (out reservationOut, err error) {
	tags := tagsFor(in.TagSpecifications, "capacity-reservation")
	context := world.Context{"ec2:InstanceType": {in.InstanceType}, "ec2:InstanceCount": {strconv.Itoa(in.InstanceCount)}}
	if in.AvailabilityZone != "" {
		context["ec2:AvailabilityZone"] = []string{in.AvailabilityZone}
	}
	if err := mayCreate(c, reservationKind.resource, tags, context); err != nil {
		return out, err
	}
	if err := in.check(c.Now); err != nil {
		return out, err
	}
	zone, err := zoneNamed(c, in.AvailabilityZone, in.AvailabilityZoneID)
	if err != nil {
		return out, err
	}
	t, ok := s.world.Facts.Types[in.InstanceType]
	if !ok {
		return out, wire.Errorf("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", in.InstanceType)
	}
	if err := offeredIn(c, t, in.InstanceType, zone); err != nil {
		return out, err
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	return world.Once(c, in.ClientToken, func() (reservationOut, error) {
		v := s.newReservation(c, in, zone, tags)
		if s.world.Conditions.Assessing == 0 {
			if err := s.activate(c.Account, c.Region, v, c.Now); err != nil {
				return reservationOut{}, err
			}
		}
		r := s.at(c)
		r.Reservations = append(r.Reservations, v)
		answered := *v
		return reservationOut{&answered}, nil
	})
}

func (in createReservationIn) check(now time.Time) error {
	switch {
	case in.InstanceCount < 1 || in.InstanceCount > 1000:
		return wire.Errorf("InvalidParameterValue", "%d is an invalid value for InstanceCount. InstanceCount must be between 1 and 1000.", in.InstanceCount)
	case in.AvailabilityZone == "" && in.AvailabilityZoneID == "":
		return wire.Errorf("MissingParameter", "The request must contain the parameter availabilityZone or availabilityZoneId")
	case in.InstancePlatform != "Linux/UNIX":
		return wire.Errorf("InvalidParameterValue", "awssim reserves for Linux/UNIX only, not for %q", in.InstancePlatform)
	case in.MatchCriteria != "" && in.MatchCriteria != "open" && in.MatchCriteria != "targeted":
		return wire.Errorf("InvalidParameterValue", "%s is an invalid value for InstanceMatchCriteria.", in.MatchCriteria)
	}
	return checkEnd(in.EndDateType, in.EndDate, now)
}

func checkEnd(kind string, end, now time.Time) error {
	switch {
	case kind == "limited" && end.IsZero():
		return wire.Errorf("InvalidParameterCombination", "EndDate must be specified when EndDateType is limited")
	case kind != "limited" && !end.IsZero():
		return wire.Errorf("InvalidParameterCombination", "EndDate cannot be specified when EndDateType is not limited")
	case !end.IsZero() && !end.After(now):
		return wire.Errorf("InvalidParameterValue", "EndDate must be in the future")
	default:
		return nil
	}
}

func (s *Service) newReservation(c *world.Call, in createReservationIn, zone world.Zone, tags []Tag) *Reservation {
	id := s.world.NewID("cr")
	return &Reservation{
		meta: meta{id, c.Now, tags}, ReservationID: id, ARN: c.Account.ARN("ec2", c.Region, "capacity-reservation/"+id), OwnerID: c.Account.ID,
		Type: "default", InstanceType: in.InstanceType, Platform: in.InstancePlatform, AvailabilityZone: zone.Name, AvailabilityZoneID: zone.ID,
		Tenancy: firstOf(in.Tenancy, "default"), Total: in.InstanceCount, EbsOptimized: in.EbsOptimized, EphemeralStorage: in.EphemeralStorage,
		State: assessing, CreateDate: c.Now, EndDate: in.EndDate, EndDateType: firstOf(in.EndDateType, "unlimited"),
		MatchCriteria: firstOf(in.MatchCriteria, "open"), PlacementGroupARN: in.PlacementGroupARN,
	}
}

// activate takes what a reservation reserves, if quota and stock let it.
func (s *Service) activate(a *world.Account, region string, v *Reservation, now time.Time) error {
	if err := s.mayReserve(a, region, v, v.Total, now); err != nil {
		return err
	}
	s.world.Take(v.AvailabilityZoneID, v.InstanceType, v.Total)
	v.State, v.Available, v.StartDate = active, v.Total, now
	s.billReservation(a.ID, region, v, now)
	return nil
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
	if v.State == active {
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
	if !v.EndDate.IsZero() && !now.Before(v.EndDate) && (v.State == active || v.State == assessing) {
		s.finish(key.account, key.region, v, "expired", v.EndDate)
	}
}

func (s *Service) account(id string) *world.Account {
	i := slices.IndexFunc(s.world.Accounts, func(a *world.Account) bool { return a.ID == id })
	return s.world.Accounts[i]
}

type describeReservationsIn struct {
	listing
	IDs []string `aws:"CapacityReservationId"`
}

type describeReservationsOut struct {
	Reservations []*Reservation `aws:"capacityReservationSet"`
	NextToken    string
}

func (s *Service) describeReservations(c *world.Call, in describeReservationsIn) (out describeReservationsOut, err error) {
	out.Reservations, out.NextToken, err = describe(c, reservationKind, s.at(c).Reservations, in.IDs, in.listing, keys[*Reservation]{
		"instance-type":           one(func(v *Reservation) string { return v.InstanceType }),
		"state":                   one(func(v *Reservation) string { return v.State }),
		"availability-zone":       one(func(v *Reservation) string { return v.AvailabilityZone }),
		"availability-zone-id":    one(func(v *Reservation) string { return v.AvailabilityZoneID }),
		"instance-match-criteria": one(func(v *Reservation) string { return v.MatchCriteria }),
		"end-date-type":           one(func(v *Reservation) string { return v.EndDateType }),
		"owner-id":                one(func(v *Reservation) string { return v.OwnerID }),
		"tenancy":                 one(func(v *Reservation) string { return v.Tenancy }),
		"instance-platform":       one(func(v *Reservation) string { return v.Platform }),
		"placement-group-arn":     one(func(v *Reservation) string { return v.PlacementGroupARN }),
	})
	return out, err
}

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
		end, kind = in.EndDate, firstOf(in.EndDateType, v.EndDateType)
		if err := checkEnd(kind, end, c.Now); err != nil {
			return done{}, err
		}
	}
	if in.InstanceCount > 0 {
		if err := s.resize(c, v, in.InstanceCount); err != nil {
			return done{}, err
		}
	}
	v.EndDate, v.EndDateType, v.MatchCriteria = end, kind, firstOf(in.MatchCriteria, v.MatchCriteria)
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
	v, err := find(c, reservationKind, s.at(c).Reservations, id)
	if err != nil {
		return nil, err
	}
	if err := mayChange(c, reservationKind, v); err != nil {
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
	if v.State != active && v.State != assessing {
		return done{}, wire.Errorf("InvalidCapacityReservationState", "The Capacity Reservation %s is in the state %s and cannot be cancelled", v.id, v.State)
	}
	s.finish(c.Account.ID, c.Region, v, "cancelled", c.Now)
	return done{true}, nil
}
