package ec2

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

type createSubnetIn struct {
	VPCID              string
	CidrBlock          string
	AvailabilityZone   string
	AvailabilityZoneID string
	TagSpecifications  []tagSpecification `aws:"TagSpecification"`
}

type subnetOut struct {
	Subnet *Subnet
}

func (s *Service) createSubnet(c *world.Call, in createSubnetIn) (out subnetOut, err error) {
	tags, err := mayCreate(c, subnetKind, in.TagSpecifications, nil)
	if err != nil {
		return out, err
	}
	r := s.at(c)
	v, err := find(c, vpcKind, r.VPCs, in.VPCID)
	if err != nil {
		return out, err
	}
	zones := c.Account.Zones(c.RegionFacts())
	zone := zones[0]
	if in.AvailabilityZone != "" || in.AvailabilityZoneID != "" {
		if zone, err = zoneNamed(c, in.AvailabilityZone, in.AvailabilityZoneID); err != nil {
			return out, err
		}
	}
	block, err := r.freeBlock(v, in.CidrBlock)
	if err != nil {
		return out, err
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	return subnetOut{s.addSubnet(c, v, zone, block, tags)}, nil
}

// freeBlock checks that a block of addresses is the VPC's and no subnet's yet.
func (r *region) freeBlock(v *VPC, text string) (netip.Prefix, error) {
	block, err := netip.ParsePrefix(text)
	whole := netip.MustParsePrefix(v.CidrBlock)
	if err != nil || !whole.Contains(block.Addr()) || block.Bits() < whole.Bits() || block.Bits() > 28 {
		return block, wire.Errorf("InvalidSubnet.Range", "The CIDR '%s' is invalid.", text)
	}
	for _, other := range r.Subnets {
		if other.VPCID == v.id && netip.MustParsePrefix(other.CidrBlock).Overlaps(block) {
			return block, wire.Errorf("InvalidSubnet.Conflict", "The CIDR '%s' conflicts with another subnet", text)
		}
	}
	return block, nil
}

// reserved is how many addresses of a subnet AWS keeps for itself.
const reserved = 5

func (s *Service) addSubnet(c *world.Call, v *VPC, zone world.Zone, block netip.Prefix, tags []Tag) *Subnet {
	id := s.world.NewID("subnet")
	subnet := &Subnet{
		meta: meta{id, c.Now, tags}, SubnetID: id, ARN: c.Account.ARN("ec2", c.Region, "subnet/"+id), OwnerID: c.Account.ID,
		State: "available", VPCID: v.id, CidrBlock: block.Masked().String(), AvailableIPAddressCount: 1<<(32-block.Bits()) - reserved,
		AvailabilityZone: zone.Name, AvailabilityZoneID: zone.ID,
	}
	r := s.at(c)
	r.Subnets = append(r.Subnets, subnet)
	return subnet
}

// zoneNamed is the zone of the region with this name or id.
func zoneNamed(c *world.Call, name, id string) (world.Zone, error) {
	for _, z := range c.Account.Zones(c.RegionFacts()) {
		if (name == "" || z.Name == name) && (id == "" || z.ID == id) {
			return z, nil
		}
	}
	return world.Zone{}, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter availabilityZone is invalid.", name+id)
}

type describeSubnetsIn struct {
	listing
	SubnetIDs []string `aws:"SubnetId"`
}

type describeSubnetsOut struct {
	Subnets   []*Subnet `aws:"subnetSet"`
	NextToken string
}

func (s *Service) describeSubnets(c *world.Call, in describeSubnetsIn) (out describeSubnetsOut, err error) {
	zone := one(func(n *Subnet) string { return n.AvailabilityZone })
	vpc := one(func(n *Subnet) string { return n.VPCID })
	out.Subnets, out.NextToken, err = describe(c, subnetKind, s.at(c).Subnets, in.SubnetIDs, in.listing, keys[*Subnet]{
		"subnet-id":               one(func(n *Subnet) string { return n.SubnetID }),
		"vpc-id":                  vpc,
		"availability-zone":       zone,
		"availabilityZone":        zone,
		"availability-zone-id":    one(func(n *Subnet) string { return n.AvailabilityZoneID }),
		"state":                   one(func(n *Subnet) string { return n.State }),
		"cidr-block":              one(func(n *Subnet) string { return n.CidrBlock }),
		"default-for-az":          one(func(n *Subnet) string { return strconv.FormatBool(n.DefaultForAZ) }),
		"map-public-ip-on-launch": one(func(n *Subnet) string { return strconv.FormatBool(n.MapPublicIPOnLaunch) }),
	})
	return out, err
}

type deleteSubnetIn struct {
	SubnetID string
}

func (s *Service) deleteSubnet(c *world.Call, in deleteSubnetIn) (done, error) {
	r := s.at(c)
	subnet, err := change(c, subnetKind, r.Subnets, in.SubnetID)
	if err != nil {
		return done{}, err
	}
	if r.inUse(subnet.id) {
		return done{}, wire.Errorf("DependencyViolation", "The subnet '%s' has dependencies and cannot be deleted.", subnet.id)
	}
	for _, t := range r.RouteTables {
		t.Associations = slices.DeleteFunc(t.Associations, func(a routeAssociation) bool { return a.SubnetID == subnet.id })
	}
	r.Subnets = remove(r.Subnets, subnet)
	return done{true}, nil
}

// inUse tells whether an instance or a gateway is in the subnet.
func (r *region) inUse(subnet string) bool {
	return slices.ContainsFunc(r.Instances, func(i *Instance) bool { return i.SubnetID == subnet && i.State.Name != "terminated" }) ||
		slices.ContainsFunc(r.NatGateways, func(g *NatGateway) bool { return g.SubnetID == subnet && g.State != "deleted" && g.State != "failed" })
}

type modifySubnetAttributeIn struct {
	SubnetID            string
	MapPublicIPOnLaunch *struct{ Value bool }
}

func (s *Service) modifySubnetAttribute(c *world.Call, in modifySubnetAttributeIn) (done, error) {
	subnet, err := change(c, subnetKind, s.at(c).Subnets, in.SubnetID)
	if err != nil {
		return done{}, err
	}
	if in.MapPublicIPOnLaunch != nil {
		subnet.MapPublicIPOnLaunch = in.MapPublicIPOnLaunch.Value
	}
	return done{true}, nil
}
