package ec2

import (
	"fmt"
	"slices"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// spotRatio is the Spot price as a part of the On-Demand price: from a quarter to
// three quarters, moving every few hours.
func spotRatio(instanceType, zone string, when time.Time) float64 {
	base := float64(25+dice(instanceType, zone)%45) / 100
	return base + float64(dice(instanceType, zone, when.Truncate(spotMoves).String())%5)/100
}

const spotMoves = 6 * time.Hour

type spotHistoryIn struct {
	listing
	StartTime           time.Time
	EndTime             time.Time
	InstanceTypes       []string `aws:"InstanceType"`
	ProductDescriptions []string `aws:"ProductDescription"`
	AvailabilityZone    string
	AvailabilityZoneID  string
}

type spotPrice struct {
	AvailabilityZone   string
	AvailabilityZoneID string
	InstanceType       string
	ProductDescription string
	SpotPrice          string
	Timestamp          time.Time
}

type spotHistoryOut struct {
	Prices    []spotPrice `aws:"spotPriceHistorySet"`
	NextToken string
}

// maxHistory is how far back AWS remembers.
const maxHistory = 90 * 24 * time.Hour

// spotHistory answers the prices of the time that is asked for, with the one
// that was in force at its beginning, the newest first.
func (s *Service) spotHistory(c *world.Call, in spotHistoryIn) (out spotHistoryOut, err error) {
	until := c.Now
	if !in.EndTime.IsZero() && in.EndTime.Before(until) {
		until = in.EndTime
	}
	from := until.Add(-maxHistory)
	if in.StartTime.After(from) {
		from = in.StartTime
	}
	if len(in.InstanceTypes) == 0 {
		return out, wire.Errorf("UnsupportedOperation", "awssim answers prices of named instance types only")
	}
	var all []spotPrice
	for _, name := range in.InstanceTypes {
		t, ok := s.world.Facts.Types[name]
		if !ok {
			return out, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for InstanceType.", name)
		}
		for _, zone := range c.Account.Zones(c.RegionFacts()) {
			fits := (in.AvailabilityZone == "" || in.AvailabilityZone == zone.Name) && (in.AvailabilityZoneID == "" || in.AvailabilityZoneID == zone.ID)
			if !fits || !slices.Contains(t.Zones, zone.ID) || t.USD == 0 {
				continue
			}
			for when := until; ; when = when.Add(-spotMoves) {
				changed := when.Truncate(spotMoves)
				usd := t.USD * c.RegionFacts().Markup * spotRatio(name, zone.ID, changed)
				all = append(all, spotPrice{zone.Name, zone.ID, name, "Linux/UNIX", fmt.Sprintf("%.6f", usd), changed})
				if !changed.After(from) {
					break
				}
			}
		}
	}
	if len(in.ProductDescriptions) > 0 && !slices.Contains(in.ProductDescriptions, "Linux/UNIX") {
		all = nil // awssim sells Linux only
	}
	out.Prices, out.NextToken, err = narrow(c, manyPages, all, in.listing, keys[spotPrice]{
		"availability-zone":    one(func(p spotPrice) string { return p.AvailabilityZone }),
		"availability-zone-id": one(func(p spotPrice) string { return p.AvailabilityZoneID }),
		"instance-type":        one(func(p spotPrice) string { return p.InstanceType }),
		"product-description":  one(func(p spotPrice) string { return p.ProductDescription }),
		"spot-price":           one(func(p spotPrice) string { return p.SpotPrice }),
	})
	return out, err
}
