package ec2

import (
	"time"

	"github.com/trainyard/trainyard/test/awssim/facts"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// room is how many more instances of a type the account's quota of vCPUs lets
// run, and the quota's limit.
func (s *Service) room(a *world.Account, region, instanceType string, spot bool) (instances int, limit float64) {
	limit, _ = a.Limit(region, world.FamilyQuota(instanceType, spot))
	left := int(limit) - s.vcpus(s.in(a.ID, region), facts.Family(instanceType), spot)
	return max(left, 0) / max(s.world.Facts.Types[instanceType].VCPUs(), 1), limit
}

// vcpus is how many vCPUs of a family count: of instances that run, and of
// reservations for what no instance uses. Capacity Blocks do not count.
func (s *Service) vcpus(r *region, family string, spot bool) int {
	total := 0
	for _, i := range r.Instances {
		if facts.Family(i.InstanceType) == family && (i.Lifecycle == "spot") == spot && i.Lifecycle != "capacity-block" && i.runs() {
			total += s.world.Facts.Types[i.InstanceType].VCPUs()
		}
	}
	if spot {
		return total
	}
	for _, v := range r.Reservations {
		if facts.Family(v.InstanceType) == family && (v.State == active || v.State == held) && v.Type != capacityBlock {
			total += s.world.Facts.Types[v.InstanceType].VCPUs() * v.Available
		}
	}
	return total
}

// price is what an instance of the type costs in a region, in USD an hour.
func (s *Service) price(region, instanceType string, spot bool, zone string) float64 {
	usd := s.world.Facts.Types[instanceType].USD * s.world.Facts.Regions[region].Markup
	if spot {
		return usd * spotRatio(instanceType, zone, s.world.Clock.Now())
	}
	return usd
}

// bill sets how many of a resource are paid for; usd is the price in us-east-1
// of what is no instance.
func (s *Service) bill(account, region, id, what, instanceType string, count int, usd float64, now time.Time) {
	s.world.Ledger.Bill(world.Entry{
		Account: account, Region: region, Resource: id, Kind: what, What: instanceType, Count: count, USDPerHour: usd,
	}, now)
}
