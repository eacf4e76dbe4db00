package ec2

import (
	"slices"
	"time"
)

// Settle does what time brings about, everywhere.
func (s *Service) Settle(now time.Time) {
	for key, r := range s.regions {
		s.settle(key, r, now)
	}
}

// settle brings the objects of a region to where they are by now.
func (s *Service) settle(key place, r *region, now time.Time) {
	for _, g := range r.NatGateways {
		g.settle(r, now)
	}
	r.NatGateways = slices.DeleteFunc(r.NatGateways, func(g *NatGateway) bool { return g.gone(now) })
	for _, v := range r.Reservations {
		s.settleReservation(key, v, now)
	}
	for _, i := range r.Instances {
		if i.State == pending && !now.Before(i.LaunchTime.Add(bootTakes)) {
			i.State = running
		}
		if i.State == shuttingDown && !now.Before(i.ended.Add(shutdownTakes)) {
			i.State = terminated
		}
	}
	r.Instances = slices.DeleteFunc(r.Instances, func(i *Instance) bool {
		return i.State == terminated && now.After(i.ended.Add(terminatedFor))
	})
}
