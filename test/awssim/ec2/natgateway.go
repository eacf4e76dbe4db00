package ec2

import (
	"time"

	"github.com/trainyard/trainyard/test/awssim/world"
)

var natGatewayKind = kind{"natgateway", "NAT gateway ID", "NatGatewayNotFound", pages{5, 1000}, nil}

// natGatewayUSD is the price of a NAT gateway in us-east-1, an hour, from AWS's
// public price page.
const natGatewayUSD = 0.045

// NatGateway leads from private subnets to the internet, and is billed.
type NatGateway struct {
	meta
	NatGatewayID string
	SubnetID     string
	VPCID        string
	State        string
	Connectivity string       `aws:"connectivityType"`
	Addresses    []natAddress `aws:"natGatewayAddressSet"`
	CreateTime   time.Time
	DeleteTime   time.Time
	Failure      string `aws:"failureCode"`
	Message      string `aws:"failureMessage"`
}

type natAddress struct {
	AllocationID  string
	AssociationID string // "" where somebody else has the address
	PublicIP      string
	IsPrimary     bool
	Status        string
}

// How long a NAT gateway takes to come and to go, and is seen after that.
const (
	natTakes   = time.Minute
	natSeenFor = time.Hour
)

type createNatGatewayIn struct {
	SubnetID          string
	AllocationID      string
	ConnectivityType  string
	ClientToken       string
	TagSpecifications []tagSpecification `aws:"TagSpecification"`
}

type natGatewayOut struct {
	NatGateway *NatGateway
}

func (s *Service) createNatGateway(c *world.Call, in createNatGatewayIn) (out natGatewayOut, err error) {
	tags, err := mayCreate(c, natGatewayKind, in.TagSpecifications, nil)
	if err != nil {
		return out, err
	}
	r := s.at(c)
	subnet, err := find(c, subnetKind, r.Subnets, in.SubnetID)
	if err != nil {
		return out, err
	}
	address, err := find(c, addressKind, r.Addresses, in.AllocationID)
	if err != nil {
		return out, err
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	return world.Once(c, in.ClientToken, func() (natGatewayOut, error) {
		return natGatewayOut{s.addNatGateway(c, subnet, address, tags)}, nil
	})
}

// addNatGateway makes one. That its address is in use AWS finds out only later:
// the gateway fails.
func (s *Service) addNatGateway(c *world.Call, subnet *Subnet, address *Address, tags []Tag) *NatGateway {
	id := s.world.NewID("nat")
	g := &NatGateway{
		meta: meta{id, c.Now, tags}, NatGatewayID: id, SubnetID: subnet.id, VPCID: subnet.VPCID, State: "pending", Connectivity: "public",
		CreateTime: c.Now,
	}
	r := s.at(c)
	r.NatGateways = append(r.NatGateways, g)
	if address.AssociationID != "" {
		g.Failure, g.Message = "Resource.AlreadyAssociated", "Elastic IP address ["+address.id+"] is already associated"
		g.Addresses = []natAddress{{address.id, "", address.PublicIP, true, "failed"}}
		return g
	}
	address.AssociationID = s.world.NewID("eipassoc")
	g.Addresses = []natAddress{{address.id, address.AssociationID, address.PublicIP, true, "succeeded"}}
	s.bill(c.Account.ID, c.Region, id, "nat gateway", "", 1, natGatewayUSD, c.Now)
	return g
}

type natGatewayIn struct {
	NatGatewayID string
}

func (s *Service) deleteNatGateway(c *world.Call, in natGatewayIn) (out natGatewayIn, err error) {
	g, err := change(c, natGatewayKind, s.at(c).NatGateways, in.NatGatewayID)
	if err != nil {
		return out, err
	}
	if g.DeleteTime.IsZero() {
		g.State, g.DeleteTime = "deleting", c.Now
		s.bill(c.Account.ID, c.Region, g.id, "nat gateway", "", 0, natGatewayUSD, c.Now)
	}
	return in, nil
}

// settle brings a NAT gateway to where it is by now.
func (g *NatGateway) settle(r *region, now time.Time) {
	switch {
	case g.State == "pending" && !now.Before(g.CreateTime.Add(natTakes)):
		g.State = "available"
		if g.Failure != "" {
			g.State = "failed"
		}
	case g.State == "deleting" && !now.Before(g.DeleteTime.Add(natTakes)):
		g.State = "deleted"
		for _, a := range r.Addresses {
			if a.AssociationID == g.Addresses[0].AssociationID {
				a.AssociationID = ""
			}
		}
	}
}

// gone tells whether a NAT gateway that was deleted, or failed, is not seen any more.
func (g *NatGateway) gone(now time.Time) bool {
	return g.State == "deleted" && now.After(g.DeleteTime.Add(natSeenFor)) || g.State == "failed" && now.After(g.CreateTime.Add(natSeenFor))
}

type describeNatGatewaysIn struct {
	listing
	NatGatewayIDs []string `aws:"NatGatewayId"`
}

type describeNatGatewaysOut struct {
	NatGateways []*NatGateway `aws:"natGatewaySet"`
	NextToken   string
}

func (s *Service) describeNatGateways(c *world.Call, in describeNatGatewaysIn) (out describeNatGatewaysOut, err error) {
	out.NatGateways, out.NextToken, err = describe(c, natGatewayKind, s.at(c).NatGateways, in.NatGatewayIDs, in.listing, keys[*NatGateway]{
		"nat-gateway-id": one(func(g *NatGateway) string { return g.NatGatewayID }),
		"vpc-id":         one(func(g *NatGateway) string { return g.VPCID }),
		"subnet-id":      one(func(g *NatGateway) string { return g.SubnetID }),
		"state":          one(func(g *NatGateway) string { return g.State }),
	})
	return out, err
}
