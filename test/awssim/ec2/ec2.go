// Package ec2 simulates Amazon EC2: regions, zones and instance types as AWS
// describes them; instances, capacity reservations and Capacity Blocks that
// take from what zones have in stock, count against quotas and cost money; Spot
// scores and prices; networks.
package ec2

import (
	"cmp"
	"slices"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// Service is the simulated EC2.
type Service struct {
	world     *world.World
	regions   map[place]*region
	addresses int                             // that were ever given out
	scored    map[string]map[string]time.Time // by account: configurations of placement scores, with their first use
}

// place is one account in one region, which share no object with any other.
type place struct{ account, region string }

// region is what an account has in a region.
type region struct {
	VPCs             []*VPC
	Subnets          []*Subnet
	RouteTables      []*RouteTable
	InternetGateways []*InternetGateway
	NatGateways      []*NatGateway
	Addresses        []*Address
	SecurityGroups   []*SecurityGroup
	PlacementGroups  []*PlacementGroup
	Instances        []*Instance
	Reservations     []*Reservation
	offerings        map[string]*offering
}

// New makes it, with nothing in it.
func New(w *world.World) *Service {
	return &Service{world: w, regions: map[place]*region{}, scored: map[string]map[string]time.Time{}}
}

// Wire says how EC2 is spoken to.
func (*Service) Wire() wire.Service {
	return wire.Service{Name: "ec2", Protocol: wire.EC2, Version: "2016-11-15"}
}

// Operations are what this EC2 can do.
func (s *Service) Operations() map[string]world.Operation {
	return map[string]world.Operation{
		"DescribeRegions":               world.Read(s.describeRegions),
		"DescribeAvailabilityZones":     world.Read(s.describeAvailabilityZones),
		"DescribeInstanceTypes":         world.Read(s.describeInstanceTypes),
		"DescribeInstanceTypeOfferings": world.Read(s.describeInstanceTypeOfferings),

		"CreateTags":   world.Write(s.createTags),
		"DeleteTags":   world.Write(s.deleteTags),
		"DescribeTags": world.Read(s.describeTags),

		"RunInstances":       world.Write(s.runInstances),
		"TerminateInstances": world.Write(s.terminateInstances),
		"DescribeInstances":  world.Read(s.describeInstances),

		"CreateCapacityReservation":      world.Write(s.createReservation),
		"ModifyCapacityReservation":      world.Write(s.modifyReservation),
		"CancelCapacityReservation":      world.Write(s.cancelReservation),
		"DescribeCapacityReservations":   world.Read(s.describeReservations),
		"DescribeCapacityBlockOfferings": world.Read(s.describeOfferings),
		"PurchaseCapacityBlock":          world.Write(s.purchaseBlock),

		"GetSpotPlacementScores":   world.Read(s.spotScores),
		"DescribeSpotPriceHistory": world.Read(s.spotHistory),

		"CreateVpc":             world.Write(s.createVPC),
		"DeleteVpc":             world.Write(s.deleteVPC),
		"DescribeVpcs":          world.Read(s.describeVPCs),
		"ModifyVpcAttribute":    world.Write(s.modifyVPCAttribute),
		"CreateSubnet":          world.Write(s.createSubnet),
		"DeleteSubnet":          world.Write(s.deleteSubnet),
		"DescribeSubnets":       world.Read(s.describeSubnets),
		"ModifySubnetAttribute": world.Write(s.modifySubnetAttribute),

		"CreateRouteTable":       world.Write(s.createRouteTable),
		"DeleteRouteTable":       world.Write(s.deleteRouteTable),
		"DescribeRouteTables":    world.Read(s.describeRouteTables),
		"CreateRoute":            world.Write(s.createRoute),
		"DeleteRoute":            world.Write(s.deleteRoute),
		"AssociateRouteTable":    world.Write(s.associateRouteTable),
		"DisassociateRouteTable": world.Write(s.disassociateRouteTable),

		"CreateInternetGateway":    world.Write(s.createInternetGateway),
		"AttachInternetGateway":    world.Write(s.attachInternetGateway),
		"DetachInternetGateway":    world.Write(s.detachInternetGateway),
		"DeleteInternetGateway":    world.Write(s.deleteInternetGateway),
		"DescribeInternetGateways": world.Read(s.describeInternetGateways),
		"AllocateAddress":          world.Write(s.allocateAddress),
		"ReleaseAddress":           world.Write(s.releaseAddress),
		"DescribeAddresses":        world.Read(s.describeAddresses),
		"CreateNatGateway":         world.Write(s.createNatGateway),
		"DeleteNatGateway":         world.Write(s.deleteNatGateway),
		"DescribeNatGateways":      world.Read(s.describeNatGateways),

		"CreateSecurityGroup":           world.Write(s.createSecurityGroup),
		"DeleteSecurityGroup":           world.Write(s.deleteSecurityGroup),
		"DescribeSecurityGroups":        world.Read(s.describeSecurityGroups),
		"AuthorizeSecurityGroupIngress": world.Write(s.authorize(ingress)),
		"AuthorizeSecurityGroupEgress":  world.Write(s.authorize(egress)),
		"RevokeSecurityGroupIngress":    world.Write(s.revoke(ingress)),
		"RevokeSecurityGroupEgress":     world.Write(s.revoke(egress)),

		"CreatePlacementGroup":    world.Write(s.createPlacementGroup),
		"DeletePlacementGroup":    world.Write(s.deletePlacementGroup),
		"DescribePlacementGroups": world.Read(s.describePlacementGroups),
	}
}

// at is what the caller has in the region of the call.
func (s *Service) at(c *world.Call) *region { return s.in(c.Account.ID, c.Region) }

func (s *Service) in(account, name string) *region {
	key := place{account, name}
	if s.regions[key] == nil {
		s.regions[key] = &region{offerings: map[string]*offering{}}
	}
	return s.regions[key]
}

// State is everything, by account and region.
func (s *Service) State() any {
	state := map[string]map[string]*region{}
	for key, r := range s.regions {
		if state[key.account] == nil {
			state[key.account] = map[string]*region{}
		}
		state[key.account][key.region] = r
	}
	return state
}

// meta is what every object has.
type meta struct {
	id   string
	made time.Time
	Tags []Tag `aws:"tagSet"`
}

func (m *meta) common() *meta { return m }

// object is anything with an id and tags.
type object interface{ common() *meta }

// objects lists all that can be tagged.
func (r *region) objects() []object {
	var all []object
	all = appendObjects(all, r.VPCs)
	all = appendObjects(all, r.Subnets)
	all = appendObjects(all, r.RouteTables)
	all = appendObjects(all, r.InternetGateways)
	all = appendObjects(all, r.NatGateways)
	all = appendObjects(all, r.Addresses)
	all = appendObjects(all, r.SecurityGroups)
	all = appendObjects(all, r.PlacementGroups)
	all = appendObjects(all, r.Instances)
	all = appendObjects(all, r.Reservations)
	slices.SortStableFunc(all, func(a, b object) int { return cmp.Compare(a.common().id, b.common().id) })
	return all
}

func appendObjects[T object](all []object, list []T) []object {
	for _, o := range list {
		all = append(all, o)
	}
	return all
}

// done is the answer of an action that has nothing to say.
type done struct {
	Return bool
}
