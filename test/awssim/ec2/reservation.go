package ec2

import (
	"cmp"
	"regexp"
	"strconv"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

var reservationKind = kind{"capacity-reservation", "CapacityReservation ID", "InvalidCapacityReservationId.NotFound", pages{1, 1000}, regexp.MustCompile(`^cr-([0-9a-f]{8}|[0-9a-f]{17})$`)}

// The states of a reservation that has not ended; it ends as expired, cancelled
// or failed.
const (
	assessing = "assessing" // what there is has not been looked at
	held      = "pending"   // it has its capacity
	active    = "active"    // it can be used, and is paid for
	scheduled = "scheduled" // a Capacity Block before it starts
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

	heldAt time.Time
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
	context := world.Context{"ec2:InstanceType": {in.InstanceType}, "ec2:InstanceCount": {strconv.Itoa(in.InstanceCount)}}
	if in.AvailabilityZone != "" {
		context["ec2:AvailabilityZone"] = []string{in.AvailabilityZone}
	}
	tags, err := mayCreate(c, reservationKind, in.TagSpecifications, context)
	if err != nil {
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
		Tenancy: cmp.Or(in.Tenancy, "default"), Total: in.InstanceCount, EbsOptimized: in.EbsOptimized, EphemeralStorage: in.EphemeralStorage,
		State: assessing, CreateDate: c.Now, EndDate: in.EndDate, EndDateType: cmp.Or(in.EndDateType, "unlimited"),
		MatchCriteria: cmp.Or(in.MatchCriteria, "open"), PlacementGroupARN: in.PlacementGroupARN,
	}
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
