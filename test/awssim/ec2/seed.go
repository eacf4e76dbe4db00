package ec2

import (
	"fmt"

	"github.com/trainyard/trainyard/test/awssim/world"
)

// Run makes instances that run since before the world began, by a seed.
func (s *Service) Run(a *world.Account, seed world.InstanceSeed) error {
	region, zone, ok := s.locate(a, seed.Zone)
	t, known := s.world.Facts.Types[seed.Type]
	if !ok || !known {
		return fmt.Errorf("there is no zone %q or no type %q", seed.Zone, seed.Type)
	}
	call := &world.Call{World: s.world, Account: a, Region: region, Now: s.world.Began}
	p := plan{facts: t, zone: zone, count: seed.Count}
	if seed.Spot {
		p.lifecycle = "spot"
	}
	s.launch(call, runInstancesIn{InstanceType: seed.Type, ImageID: "ami-00000000000000000"}, p)
	for _, i := range s.in(a.ID, region).Instances {
		i.made, i.LaunchTime = s.world.Before(), s.world.Before()
	}
	return nil
}

// locate finds the zone with an account's name.
func (s *Service) locate(a *world.Account, name string) (region string, zone world.Zone, ok bool) {
	for region, f := range s.world.Facts.Regions {
		for _, z := range a.Zones(f) {
			if z.Name == name {
				return region, z, true
			}
		}
	}
	return "", world.Zone{}, false
}
