package ec2

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/test/awssim/facts"
	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// plan is where a launch goes and what it takes.
type plan struct {
	facts       facts.Type
	zone        world.Zone
	subnet      *Subnet
	groups      []groupName
	reservation *Reservation // nil: from the zone's stock
	lifecycle   string
	count       int
	tags        []Tag
}

func (s *Service) planLaunch(c *world.Call, in runInstancesIn) (p plan, err error) {
	p.facts = s.world.Facts.Types[in.InstanceType]
	switch {
	case p.facts.Describe == nil:
		return p, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for InstanceType.", in.InstanceType)
	case !strings.HasPrefix(in.ImageID, "ami-"):
		return p, wire.Errorf("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", in.ImageID)
	case in.MinCount < 1 || in.MaxCount < in.MinCount:
		return p, wire.Errorf("InvalidParameterValue", "Value (%d) for parameter maxCount is invalid.", in.MaxCount)
	}
	if err := checkInterfaces(p.facts, in.Interfaces); err != nil {
		return p, err
	}
	if err := s.placeLaunch(c, in, &p); err != nil {
		return p, err
	}
	err = s.sourceLaunch(c, in, &p)
	return p, err
}

// checkInterfaces holds a launch to what the type's network can do.
func checkInterfaces(t facts.Type, interfaces []interfaceIn) error {
	efa := 0
	for _, i := range interfaces {
		if i.InterfaceType == "efa" || i.InterfaceType == "efa-only" {
			efa++
		}
	}
	name, _ := t.Describe["InstanceType"].(string)
	switch {
	case efa > 0 && t.EFA() == 0:
		return wire.Errorf("InvalidParameterCombination", "EFA interfaces are not supported on '%s' instances", name)
	case efa > t.EFA():
		return wire.Errorf("AttachmentLimitExceeded", "EFA interface count %d exceeds the limit for %s", efa, name)
	default:
		return nil
	}
}

// placeLaunch finds subnet, groups and zone.
func (s *Service) placeLaunch(c *world.Call, in runInstancesIn, p *plan) (err error) {
	r := s.at(c)
	if in.SubnetID != "" {
		if p.subnet, err = find(c, subnetKind, r.Subnets, in.SubnetID); err != nil {
			return err
		}
		in.Placement.AvailabilityZone, in.Placement.AvailabilityZoneID = p.subnet.AvailabilityZone, ""
		if p.subnet.AvailableIPAddressCount < in.MinCount {
			return wire.Errorf("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", p.subnet.id)
		}
	}
	if p.subnet != nil && len(in.SecurityGroupIDs) == 0 {
		in.SecurityGroupIDs = []string{r.defaultGroup(p.subnet.VPCID)}
	}
	for _, id := range in.SecurityGroupIDs {
		g, err := find(c, securityGroupKind, r.SecurityGroups, id)
		if err != nil {
			return err
		}
		p.groups = append(p.groups, groupName{g.id, g.GroupName})
	}
	if name := in.Placement.GroupName; name != "" && r.placementGroup(name) == nil {
		return wire.Errorf(placementGroupKind.missing, "The Placement Group '%s' is unknown.", name)
	}
	if in.Placement.AvailabilityZone == "" && in.Placement.AvailabilityZoneID == "" {
		p.zone = s.bestZone(c, p.facts, in.InstanceType)
	} else if p.zone, err = zoneNamed(c, in.Placement.AvailabilityZone, in.Placement.AvailabilityZoneID); err != nil {
		return err
	}
	return offeredIn(c, p.facts, in.InstanceType, p.zone)
}

// bestZone is the zone with most of a type, which EC2 takes where the caller
// does not care.
func (s *Service) bestZone(c *world.Call, t facts.Type, name string) (best world.Zone) {
	most := -1
	for _, zone := range c.Account.Zones(c.RegionFacts()) {
		if free := s.world.Free(zone.ID, name, c.Now); slices.Contains(t.Zones, zone.ID) && free > most {
			best, most = zone, free
		}
	}
	return best
}

// offeredIn refuses a zone that does not offer the type.
func offeredIn(c *world.Call, t facts.Type, name string, zone world.Zone) error {
	if slices.Contains(t.Zones, zone.ID) {
		return nil
	}
	var others []string
	for _, z := range c.Account.Zones(c.RegionFacts()) {
		if slices.Contains(t.Zones, z.ID) {
			others = append(others, z.Name)
		}
	}
	if len(others) == 0 {
		return wire.Errorf("Unsupported", "The requested configuration is currently not supported. Please check the documentation for supported configurations.")
	}
	return wire.Errorf("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s). "+
		"Please retry your request by not specifying an Availability Zone or choosing %s.", name, zone.Name, strings.Join(others, ", "))
}

// sourceLaunch finds what the instances are taken from: a reservation, or the
// zone's stock, which quotas limit.
func (s *Service) sourceLaunch(c *world.Call, in runInstancesIn, p *plan) error {
	switch in.InstanceMarketOptions.MarketType {
	case "spot", capacityBlock:
		p.lifecycle = in.InstanceMarketOptions.MarketType
	case "":
	default:
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for MarketType.", in.InstanceMarketOptions.MarketType)
	}
	if id := in.CapacityReservation.Target.ID; id != "" {
		return s.fromReservation(c, in, p, id)
	}
	if p.lifecycle == capacityBlock {
		return wire.Errorf("InvalidParameterCombination", "A Capacity Block needs a Capacity Reservation target")
	}
	if !slices.Contains(p.facts.UsageClasses(), cmp.Or(p.lifecycle, "on-demand")) || p.facts.USD == 0 {
		return wire.Errorf("Unsupported", "The requested configuration is currently not supported. Please check the documentation for supported configurations.")
	}
	if p.lifecycle == "" && in.CapacityReservation.Preference != "none" {
		if v := s.at(c).openReservation(in.InstanceType, p.zone.ID, in.MinCount); v != nil {
			p.reservation, p.count = v, min(v.Available, in.MaxCount)
			return nil
		}
	}
	room, limit := s.room(c.Account, c.Region, in.InstanceType, p.lifecycle == "spot")
	p.count = min(in.MaxCount, room, s.world.Free(p.zone.ID, in.InstanceType, c.Now))
	switch {
	case room < in.MinCount && p.lifecycle == "spot":
		return wire.Errorf("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
	case room < in.MinCount:
		return wire.Errorf("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %.0f allows for the instance bucket that the "+
			"specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.", limit)
	case p.count < in.MinCount:
		return insufficient(in.InstanceType, p.zone.Name)
	}
	return nil
}

// insufficient is AWS's answer where a zone has no more of a type. Its status
// says that AWS is to blame, so that clients try again.
func insufficient(instanceType, zone string) error {
	return &wire.Error{
		Code: "InsufficientInstanceCapacity", Status: http.StatusInternalServerError,
		Message: fmt.Sprintf("We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). "+
			"Our system will be working on provisioning additional capacity.", instanceType, zone),
	}
}

func (s *Service) fromReservation(c *world.Call, in runInstancesIn, p *plan, id string) error {
	v, err := find(c, reservationKind, s.at(c).Reservations, id)
	if err != nil {
		return err
	}
	switch {
	case v.State != active || v.Available < in.MinCount:
		return wire.Errorf("ReservationCapacityExceeded", "The requested reservation does not have sufficient compatible and available capacity for this request.")
	case v.InstanceType != in.InstanceType || v.AvailabilityZoneID != p.zone.ID || (v.Type == capacityBlock) != (p.lifecycle == capacityBlock):
		return wire.Errorf("InvalidCapacityReservationState", "The reservation %s is for %s in %s", v.id, v.InstanceType, v.AvailabilityZone)
	}
	p.reservation, p.count = v, min(v.Available, in.MaxCount)
	return nil
}
