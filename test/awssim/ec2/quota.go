package ec2

import (
	"time"

	"github.com/trainyard/trainyard/test/awssim/world"
)

// room is how many more instances of a type the account's quota of vCPUs lets
// run, and the quota's limit.
func (s *Service) room(a *world.Account, region, instanceType string, spot bool) (instances int, limit float64) {
	quota := world.VCPUQuota(instanceType, spot)
	limit, _ = a.Limit(region, quota)
	left := int(limit) - s.vcpus(s.in(a.ID, region), quota)
	return max(left, 0) / max(s.world.Facts.Types[instanceType].VCPUs(), 1), limit
}

// vcpus is how many vCPUs a quota counts: of instances that run, and of
// reservations for what no instance uses. Capacity Blocks do not count.
func (s *Service) vcpus(r *region, quota world.Quota) int {
	total := 0
	for _, i := range r.Instances {
		if i.runs() && i.Lifecycle != capacityBlock && world.VCPUQuota(i.InstanceType, i.Lifecycle == "spot").Code == quota.Code {
			total += s.world.Facts.Types[i.InstanceType].VCPUs()
		}
	}
	for _, v := range r.Reservations {
		if (v.State == active || v.State == held) && v.Type != capacityBlock && world.VCPUQuota(v.InstanceType, false).Code == quota.Code {
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

// bill sets how many of a resource are paid for; usd is the price of one in the
// region, an hour. What is no instance costs the same everywhere here.
func (s *Service) bill(account, region, id, what, instanceType string, count int, usd float64, now time.Time) {
	s.world.Ledger.Bill(world.Entry{
		Account: account, Region: region, Resource: id, Kind: what, What: instanceType, Count: count, USDPerHour: usd,
	}, now)
}
