package ec2

import (
	"fmt"
	"slices"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// Of Capacity Blocks, from AWS's documentation.
const (
	blockStart = 11*time.Hour + 30*time.Minute // of the day, UTC
	blockAhead = 56                            // days in which a block may start
	blockPrice = 0.9                           // of the On-Demand price: AWS's own changes with demand
	usdPerVCPU = 0.25                          // an hour, of types that have no On-Demand price
	endsEarly  = 30 * time.Minute              // before the end of a block its instances are ended
)

// blockSizes are how many instances a block may have. Source: "Capacity Blocks
// for ML" of the EC2 user guide, whose newer editions say only that 64 are the
// most. How AWS answers other numbers is not documented; here nothing is offered.
var blockSizes = []int{1, 2, 4, 8, 16, 32, 64}

// offering is a Capacity Block that can be bought.
type offering struct {
	ID               string `aws:"capacityBlockOfferingId"`
	InstanceType     string
	AvailabilityZone string
	InstanceCount    int
	StartDate        time.Time
	EndDate          time.Time
	Hours            int `aws:"capacityBlockDurationHours"`
	Minutes          int `aws:"capacityBlockDurationMinutes"`
	UpfrontFee       string
	CurrencyCode     string
	Tenancy          string

	zone string // its id
	usd  float64
}

type describeOfferingsIn struct {
	world.Paging
	InstanceType   string
	InstanceCount  int
	StartDateRange time.Time
	EndDateRange   time.Time
	Hours          int `aws:"CapacityDurationHours"`
}

type describeOfferingsOut struct {
	Offerings []*offering `aws:"capacityBlockOfferingSet"`
	NextToken string
}

// describeOfferings answers what could be bought; where a request is larger
// than what there is, or of no size that there is, nothing, without an error.
func (s *Service) describeOfferings(c *world.Call, in describeOfferingsIn) (out describeOfferingsOut, err error) {
	t, ok := s.world.Facts.Types[in.InstanceType]
	switch {
	case !ok || !slices.Contains(t.UsageClasses(), capacityBlock):
		return out, wire.Errorf("InvalidParameterValue", "The instance type %s is not supported for Capacity Blocks", in.InstanceType)
	case in.InstanceCount < 1:
		return out, wire.Errorf("InvalidParameterValue", "%d is an invalid value for InstanceCount", in.InstanceCount)
	case !validHours(in.Hours):
		return out, wire.Errorf("InvalidParameterValue", "%d is an invalid value for CapacityDurationHours: 1 to 14 days, or weeks up to 182 days", in.Hours)
	}
	var found []*offering
	for _, zone := range c.Account.Zones(c.RegionFacts()) {
		if slices.Contains(t.Zones, zone.ID) && slices.Contains(blockSizes, in.InstanceCount) && in.InstanceCount <= s.world.Blocks(zone.ID, in.InstanceType) {
			found = append(found, s.offer(c, in, zone)...)
		}
	}
	slices.SortStableFunc(found, func(a, b *offering) int { return a.StartDate.Compare(b.StartDate) })
	if out.Offerings, out.NextToken, err = world.Page(c, in.Paging, reservationKind.pages.most, found); err != nil {
		return out, err
	}
	for _, o := range out.Offerings {
		s.at(c).offerings[o.ID] = o
	}
	return out, nil
}

// validHours are whole days up to 14, and whole weeks up to 182 days.
func validHours(hours int) bool {
	days := hours / 24
	return hours > 0 && hours%24 == 0 && (days <= 14 || days%7 == 0 && days <= 182)
}

// offer makes the offerings of one zone: up to three, some days apart.
func (s *Service) offer(c *world.Call, in describeOfferingsIn, zone world.Zone) (found []*offering) {
	first := c.Now.Truncate(24 * time.Hour).Add(blockStart)
	for day := 1 + dice(zone.ID, in.InstanceType)%5; day <= blockAhead && len(found) < 3; day += 2 + dice(in.InstanceType, zone.ID)%7 {
		start := first.AddDate(0, 0, day)
		end := start.Add(time.Duration(in.Hours) * time.Hour)
		if start.Before(in.StartDateRange) || !in.EndDateRange.IsZero() && end.After(in.EndDateRange) {
			continue
		}
		usd := s.blockUSD(c.Region, in.InstanceType) * float64(in.Hours*in.InstanceCount)
		found = append(found, &offering{
			ID:           fmt.Sprintf("cb-0%016x", uint64(dice(zone.ID, in.InstanceType, start.String(), fmt.Sprint(in.InstanceCount, in.Hours)))),
			InstanceType: in.InstanceType, AvailabilityZone: zone.Name, InstanceCount: in.InstanceCount, StartDate: start, EndDate: end,
			Hours: in.Hours, Minutes: in.Hours * 60, UpfrontFee: fmt.Sprintf("%.4f", usd), CurrencyCode: "USD", Tenancy: "default",
			zone: zone.ID, usd: usd,
		})
	}
	return found
}

// blockUSD is the price of one instance for an hour.
func (s *Service) blockUSD(region, instanceType string) float64 {
	if usd := s.price(region, instanceType, false, ""); usd > 0 {
		return usd * blockPrice
	}
	return float64(s.world.Facts.Types[instanceType].VCPUs()) * usdPerVCPU * s.world.Facts.Regions[region].Markup
}

type purchaseIn struct {
	OfferingID        string             `aws:"CapacityBlockOfferingId"`
	Platform          string             `aws:"InstancePlatform"`
	TagSpecifications []tagSpecification `aws:"TagSpecification"`
}

func (s *Service) purchaseBlock(c *world.Call, in purchaseIn) (out reservationOut, err error) {
	tags, err := mayCreate(c, reservationKind, in.TagSpecifications, nil)
	if err != nil {
		return out, err
	}
	r := s.at(c)
	o, ok := r.offerings[in.OfferingID]
	if !ok || !o.StartDate.After(c.Now) {
		return out, wire.Errorf("InvalidCapacityBlockOfferingId.NotFound", "The Capacity Block offering ID '%s' does not exist", in.OfferingID)
	}
	if s.world.Blocks(o.zone, o.InstanceType) < o.InstanceCount {
		return out, wire.Errorf("InvalidCapacityBlockOfferingId.Expired", "The Capacity Block offering %s is no longer available", o.ID)
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	v := s.newReservation(c, createReservationIn{
		InstanceType: o.InstanceType, InstancePlatform: in.Platform, InstanceCount: o.InstanceCount, MatchCriteria: "targeted",
		EndDate: o.EndDate, EndDateType: "limited",
	}, world.Zone{Name: o.AvailabilityZone, ID: o.zone}, tags)
	v.Type, v.BlockID, v.State, v.StartDate = capacityBlock, s.world.NewID("cb"), scheduled, o.StartDate
	s.world.TakeBlocks(o.zone, o.InstanceType, o.InstanceCount)
	s.world.Ledger.Charge(world.Entry{
		Account: c.Account.ID, Region: c.Region, Resource: v.id, Kind: "capacity block", What: o.InstanceType, Count: o.InstanceCount, Upfront: o.usd,
	}, c.Now)
	r.Reservations = append(r.Reservations, v)
	delete(r.offerings, in.OfferingID)
	answered := *v
	answered.State = "payment-pending"
	return reservationOut{&answered}, nil
}

// settleBlock brings a Capacity Block to where it is by now.
func (s *Service) settleBlock(key place, v *Reservation, now time.Time) {
	if v.State == scheduled && !now.Before(v.StartDate) {
		v.State, v.Available = active, v.Total
	}
	if v.State != active {
		return
	}
	if ends := v.EndDate.Add(-endsEarly); !now.Before(ends) {
		for _, i := range s.in(key.account, key.region).Instances {
			if i.ReservationID == v.id {
				s.terminate(key.account, key.region, i, ends, &reason{"Server.CapacityBlockEnded", "The Capacity Block ends"})
			}
		}
	}
	if !now.Before(v.EndDate) {
		v.State, v.Available = "expired", 0
		s.world.TakeBlocks(v.AvailabilityZoneID, v.InstanceType, -v.Total)
	}
}
