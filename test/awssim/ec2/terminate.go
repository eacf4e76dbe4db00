package ec2

import (
	"slices"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

type terminateInstancesIn struct {
	InstanceIDs []string `aws:"InstanceId"`
}

type stateChange struct {
	InstanceID string
	Current    instanceState `aws:"currentState"`
	Previous   instanceState `aws:"previousState"`
}

type terminateInstancesOut struct {
	Instances []stateChange `aws:"instancesSet"`
}

// terminateInstances ends all of the instances or, where one is missing, none.
func (s *Service) terminateInstances(c *world.Call, in terminateInstancesIn) (out terminateInstancesOut, err error) {
	var found []*Instance
	for _, id := range in.InstanceIDs {
		i, err := find(c, instanceKind, s.at(c).Instances, id)
		if err != nil {
			return out, err
		}
		context := resourceContext(world.Context{"ec2:InstanceType": {i.InstanceType}}, i.Tags)
		if err := c.Authorize(c.Action(), c.ARN("instance/"+i.id), context); err != nil {
			return out, err
		}
		found = append(found, i)
	}
	if len(found) == 0 {
		return out, wire.Errorf("MissingParameter", "The request must contain the parameter InstanceId")
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	for _, i := range found {
		before := i.State
		s.terminate(c.Account.ID, c.Region, i, c.Now, &reason{"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown"})
		out.Instances = append(out.Instances, stateChange{i.id, i.State, before})
	}
	return out, nil
}

func (s *Service) terminate(account, region string, i *Instance, now time.Time, why *reason) {
	if !i.runs() {
		return
	}
	i.State, i.StateReason, i.ended = shuttingDown, why, now
	s.billInstance(account, region, i, 0, now)
	r := s.in(account, region)
	if n := slices.IndexFunc(r.Reservations, func(v *Reservation) bool { return v.id == i.ReservationID }); n >= 0 && (r.Reservations[n].State == active || r.Reservations[n].State == held) {
		s.use(account, region, r.Reservations[n], -1, now) // the place stays reserved
		return
	}
	s.world.Take(i.zone, i.InstanceType, -1)
}

// billInstance sets whether an instance is paid for. Those of a Capacity Block
// were, with the block.
func (s *Service) billInstance(account, region string, i *Instance, count int, now time.Time) {
	if i.Lifecycle == capacityBlock {
		return
	}
	usd := s.price(region, i.InstanceType, i.Lifecycle == "spot", i.zone)
	s.bill(account, region, i.id, "instance", i.InstanceType, count, usd, now)
}
