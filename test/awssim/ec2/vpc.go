package ec2

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

var (
	vpcKind    = kind{"vpc", "vpc ID", "InvalidVpcID.NotFound", pages{5, 1000}, nil}
	subnetKind = kind{"subnet", "subnet ID", "InvalidSubnetID.NotFound", pages{5, 1000}, nil}
)

// VPC is a virtual network.
type VPC struct {
	meta
	VPCID           string
	OwnerID         string
	State           string
	CidrBlock       string
	Blocks          []vpcBlock `aws:"cidrBlockAssociationSet"`
	InstanceTenancy string
	IsDefault       bool
	DhcpOptionsID   string
	DNSHostnames    bool `aws:"-"`
}

type vpcBlock struct {
	AssociationID string
	CidrBlock     string
	State         stateName `aws:"cidrBlockState"`
}

// Subnet is a part of a VPC in one zone.
type Subnet struct {
	meta
	SubnetID                string
	ARN                     string `aws:"subnetArn"`
	OwnerID                 string
	State                   string
	VPCID                   string
	CidrBlock               string
	AvailableIPAddressCount int
	AvailabilityZone        string
	AvailabilityZoneID      string
	DefaultForAZ            bool `aws:"defaultForAz"`
	MapPublicIPOnLaunch     bool
}

type createVPCIn struct {
	CidrBlock         string
	InstanceTenancy   string
	TagSpecifications []tagSpecification `aws:"TagSpecification"`
}

type vpcOut struct {
	VPC *VPC
}

func (s *Service) createVPC(c *world.Call, in createVPCIn) (out vpcOut, err error) {
	tags, err := mayCreate(c, vpcKind, in.TagSpecifications, nil)
	if err != nil {
		return out, err
	}
	block, err := netip.ParsePrefix(in.CidrBlock)
	if err != nil || block.Bits() < 16 || block.Bits() > 28 {
		return out, wire.Errorf("InvalidVpc.Range", "The CIDR '%s' is invalid.", in.CidrBlock)
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	return vpcOut{s.addVPC(c, block, tags)}, nil
}

// addVPC makes a VPC with its main route table and default security group.
func (s *Service) addVPC(c *world.Call, block netip.Prefix, tags []Tag) *VPC {
	r := s.at(c)
	id := s.world.NewID("vpc")
	v := &VPC{
		meta: meta{id, c.Now, tags}, VPCID: id, OwnerID: c.Account.ID, State: "available", CidrBlock: block.Masked().String(),
		InstanceTenancy: "default", DhcpOptionsID: "dopt-0" + id[5:],
	}
	v.Blocks = []vpcBlock{{s.world.NewID("vpc-cidr-assoc"), v.CidrBlock, stateName{"associated"}}}
	r.VPCs = append(r.VPCs, v)
	main := s.addRouteTable(c, v, nil)
	main.Associations = append(main.Associations, association(s.world.NewID("rtbassoc"), main.id, "", true))
	s.addSecurityGroup(c, v, "default", "default VPC security group", nil)
	return v
}

type describeVPCsIn struct {
	listing
	VPCIDs []string `aws:"VpcId"`
}

type describeVPCsOut struct {
	VPCs      []*VPC `aws:"vpcSet"`
	NextToken string
}

func (s *Service) describeVPCs(c *world.Call, in describeVPCsIn) (out describeVPCsOut, err error) {
	out.VPCs, out.NextToken, err = describe(c, vpcKind, s.at(c).VPCs, in.VPCIDs, in.listing, keys[*VPC]{
		"vpc-id":     one(func(v *VPC) string { return v.VPCID }),
		"cidr":       one(func(v *VPC) string { return v.CidrBlock }),
		"state":      one(func(v *VPC) string { return v.State }),
		"is-default": one(func(v *VPC) string { return strconv.FormatBool(v.IsDefault) }),
		"isDefault":  one(func(v *VPC) string { return strconv.FormatBool(v.IsDefault) }),
		"owner-id":   one(func(v *VPC) string { return v.OwnerID }),
	})
	return out, err
}

type deleteVPCIn struct {
	VPCID string
}

func (s *Service) deleteVPC(c *world.Call, in deleteVPCIn) (done, error) {
	r := s.at(c)
	v, err := change(c, vpcKind, r.VPCs, in.VPCID)
	if err != nil {
		return done{}, err
	}
	if r.dependents(v.id) {
		return done{}, wire.Errorf("DependencyViolation", "The vpc '%s' has dependencies and cannot be deleted.", v.id)
	}
	r.VPCs = remove(r.VPCs, v)
	r.RouteTables = slices.DeleteFunc(r.RouteTables, func(t *RouteTable) bool { return t.VPCID == v.id })
	r.SecurityGroups = slices.DeleteFunc(r.SecurityGroups, func(g *SecurityGroup) bool { return g.VPCID == v.id })
	return done{true}, nil
}

// dependents tells whether anything is in the VPC that must be deleted first.
func (r *region) dependents(vpc string) bool {
	return slices.ContainsFunc(r.Subnets, func(s *Subnet) bool { return s.VPCID == vpc }) ||
		slices.ContainsFunc(r.InternetGateways, func(g *InternetGateway) bool { return g.attachedTo(vpc) }) ||
		slices.ContainsFunc(r.RouteTables, func(t *RouteTable) bool { return t.VPCID == vpc && !t.main() }) ||
		slices.ContainsFunc(r.SecurityGroups, func(g *SecurityGroup) bool { return g.VPCID == vpc && g.GroupName != "default" })
}

func remove[T comparable](list []T, item T) []T {
	return slices.DeleteFunc(list, func(have T) bool { return have == item })
}

type modifyVPCAttributeIn struct {
	VPCID              string
	EnableDNSHostnames *struct{ Value bool }
	EnableDNSSupport   *struct{ Value bool }
}

func (s *Service) modifyVPCAttribute(c *world.Call, in modifyVPCAttributeIn) (done, error) {
	v, err := change(c, vpcKind, s.at(c).VPCs, in.VPCID)
	if err != nil {
		return done{}, err
	}
	if in.EnableDNSHostnames != nil {
		v.DNSHostnames = in.EnableDNSHostnames.Value
	}
	return done{true}, nil
}
