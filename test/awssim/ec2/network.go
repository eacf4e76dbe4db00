package ec2

import (
	"net/netip"
	"slices"

	"github.com/trainyard/trainyard/test/awssim/world"
)

// Network is what AddNetwork made, by ids.
type Network struct {
	VPC           string
	Subnets       []string // the public ones, then the private ones, by zone
	SecurityGroup string
}

// AddNetwork makes the VPC of a cluster as most tools lay it: in each zone a
// public subnet, with a route to the internet, and a private one.
func (s *Service) AddNetwork(a *world.Account, regionName, cluster string, zones []string) Network {
	c := &world.Call{World: s.world, Account: a, Region: regionName, Now: s.world.Before()}
	name := func(part string) []Tag { return []Tag{{"Name", cluster + "/" + part}} }
	v := s.addVPC(c, netip.MustParsePrefix("192.168.0.0/16"), name("VPC"))
	gateway := s.addInternetGateway(c, name("InternetGateway"))
	gateway.Attachments = []gatewayAttachment{{"available", v.id}}
	public, private := s.addRouteTable(c, v, name("PublicRouteTable")), s.addRouteTable(c, v, name("PrivateRouteTable"))
	public.Routes = append(public.Routes, route{DestinationCidrBlock: "0.0.0.0/0", GatewayID: gateway.id, Origin: "CreateRoute", State: "active"})

	n := Network{VPC: v.id, SecurityGroup: s.addSecurityGroup(c, v, "eks-cluster-sg-"+cluster, "EKS created security group", name("cluster")).id}
	block := netip.MustParsePrefix("192.168.0.0/19")
	for _, side := range []struct {
		table *RouteTable
		role  string
	}{{public, "kubernetes.io/role/elb"}, {private, "kubernetes.io/role/internal-elb"}} {
		for _, zone := range c.Account.Zones(c.RegionFacts()) {
			if !slices.Contains(zones, zone.Name) {
				continue
			}
			subnet := s.addSubnet(c, v, zone, block, append(name("Subnet"), Tag{side.role, "1"}))
			subnet.MapPublicIPOnLaunch = side.table == public
			side.table.Associations = append(side.table.Associations, association(s.world.NewID("rtbassoc"), side.table.id, subnet.id, false))
			n.Subnets = append(n.Subnets, subnet.id)
			block = following(block)
		}
	}
	return n
}

// following is the block of addresses behind this one.
func following(block netip.Prefix) netip.Prefix {
	address := block.Addr().As4()
	next := uint32(address[0])<<24 | uint32(address[1])<<16 | uint32(address[2])<<8 | uint32(address[3])
	next += 1 << (32 - block.Bits())
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(next >> 24), byte(next >> 16), byte(next >> 8), byte(next)}), block.Bits())
}
