package ec2

import (
	"fmt"
	"slices"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

var (
	internetGatewayKind = kind{"internet-gateway", "internetGateway ID", "InvalidInternetGatewayID.NotFound"}
	natGatewayKind      = kind{"natgateway", "NAT gateway ID", "NatGatewayNotFound"}
	addressKind         = kind{"elastic-ip", "allocation ID", "InvalidAllocationID.NotFound"}
)

// Prices of networks in us-east-1, an hour, from AWS's public price pages.
const (
	natGatewayUSD = 0.045
	addressUSD    = 0.005
)

// InternetGateway leads from a VPC to the internet.
type InternetGateway struct {
	meta
	InternetGatewayID string
	OwnerID           string
	Attachments       []gatewayAttachment `aws:"attachmentSet"`
}

type gatewayAttachment struct {
	State string
	VPCID string
}

func (g *InternetGateway) attachedTo(vpc string) bool {
	return slices.ContainsFunc(g.Attachments, func(a gatewayAttachment) bool { return a.VPCID == vpc })
}

type createInternetGatewayIn struct {
	TagSpecifications []tagSpecification `aws:"TagSpecification"`
}

type internetGatewayOut struct {
	InternetGateway *InternetGateway
}

func (s *Service) createInternetGateway(c *world.Call, in createInternetGatewayIn) (out internetGatewayOut, err error) {
	tags := tagsFor(in.TagSpecifications, "internet-gateway")
	if err := mayCreate(c, "internet-gateway", tags, nil); err != nil {
		return out, err
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	return internetGatewayOut{s.addInternetGateway(c, tags)}, nil
}

func (s *Service) addInternetGateway(c *world.Call, tags []Tag) *InternetGateway {
	id := s.world.NewID("igw")
	g := &InternetGateway{meta: meta{id, c.Now, tags}, InternetGatewayID: id, OwnerID: c.Account.ID}
	r := s.at(c)
	r.InternetGateways = append(r.InternetGateways, g)
	return g
}

type internetGatewayIn struct {
	InternetGatewayID string
	VPCID             string
}

func (s *Service) attachInternetGateway(c *world.Call, in internetGatewayIn) (done, error) {
	r := s.at(c)
	g, err := find(c, internetGatewayKind, r.InternetGateways, in.InternetGatewayID)
	if err != nil {
		return done{}, err
	}
	v, err := find(c, vpcKind, r.VPCs, in.VPCID)
	if err != nil {
		return done{}, err
	}
	if err := mayChange(c, internetGatewayKind, g); err != nil {
		return done{}, err
	}
	if len(g.Attachments) > 0 {
		return done{}, wire.Errorf("Resource.AlreadyAssociated", "resource %s is already attached to network %s", g.id, g.Attachments[0].VPCID)
	}
	g.Attachments = []gatewayAttachment{{"available", v.id}}
	return done{true}, nil
}

func (s *Service) detachInternetGateway(c *world.Call, in internetGatewayIn) (done, error) {
	g, err := find(c, internetGatewayKind, s.at(c).InternetGateways, in.InternetGatewayID)
	if err != nil {
		return done{}, err
	}
	if err := mayChange(c, internetGatewayKind, g); err != nil {
		return done{}, err
	}
	if !g.attachedTo(in.VPCID) {
		return done{}, wire.Errorf("Gateway.NotAttached", "resource %s is not attached to network %s", g.id, in.VPCID)
	}
	g.Attachments = nil
	return done{true}, nil
}

func (s *Service) deleteInternetGateway(c *world.Call, in internetGatewayIn) (done, error) {
	r := s.at(c)
	g, err := find(c, internetGatewayKind, r.InternetGateways, in.InternetGatewayID)
	if err != nil {
		return done{}, err
	}
	if err := mayChange(c, internetGatewayKind, g); err != nil {
		return done{}, err
	}
	if len(g.Attachments) > 0 {
		return done{}, wire.Errorf("DependencyViolation", "The internetGateway '%s' has dependencies and cannot be deleted.", g.id)
	}
	r.InternetGateways = remove(r.InternetGateways, g)
	return done{true}, nil
}

type describeInternetGatewaysIn struct {
	listing
	InternetGatewayIDs []string `aws:"InternetGatewayId"`
}

type describeInternetGatewaysOut struct {
	InternetGateways []*InternetGateway `aws:"internetGatewaySet"`
	NextToken        string
}

func (s *Service) describeInternetGateways(c *world.Call, in describeInternetGatewaysIn) (out describeInternetGatewaysOut, err error) {
	out.InternetGateways, out.NextToken, err = describe(c, internetGatewayKind, s.at(c).InternetGateways, in.InternetGatewayIDs, in.listing, keys[*InternetGateway]{
		"internet-gateway-id": one(func(g *InternetGateway) string { return g.InternetGatewayID }),
		"attachment.vpc-id": func(g *InternetGateway) (all []string) {
			for _, a := range g.Attachments {
				all = append(all, a.VPCID)
			}
			return all
		},
	})
	return out, err
}

// Address is a public address of one's own, billed as long as one has it.
type Address struct {
	meta
	AllocationID  string
	AssociationID string
	PublicIP      string
	Domain        string
}

type allocateAddressIn struct {
	Domain            string
	TagSpecifications []tagSpecification `aws:"TagSpecification"`
}

type allocateAddressOut struct {
	AllocationID string
	PublicIP     string
	Domain       string
}

func (s *Service) allocateAddress(c *world.Call, in allocateAddressIn) (out allocateAddressOut, err error) {
	tags := tagsFor(in.TagSpecifications, "elastic-ip")
	if err := mayCreate(c, "elastic-ip", tags, nil); err != nil {
		return out, err
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	r := s.at(c)
	id := s.world.NewID("eipalloc")
	a := &Address{meta: meta{id, c.Now, tags}, AllocationID: id, PublicIP: fmt.Sprintf("192.0.2.%d", 1+len(r.Addresses)%254), Domain: "vpc"}
	r.Addresses = append(r.Addresses, a)
	s.bill(c.Account.ID, c.Region, id, "address", "", 1, addressUSD, c.Now)
	return allocateAddressOut{id, a.PublicIP, a.Domain}, nil
}

type addressIn struct {
	AllocationID string
}

func (s *Service) releaseAddress(c *world.Call, in addressIn) (done, error) {
	r := s.at(c)
	a, err := find(c, addressKind, r.Addresses, in.AllocationID)
	if err != nil {
		return done{}, err
	}
	if err := mayChange(c, addressKind, a); err != nil {
		return done{}, err
	}
	if a.AssociationID != "" {
		return done{}, wire.Errorf("InvalidIPAddress.InUse", "Address %s is in use.", a.PublicIP)
	}
	r.Addresses = remove(r.Addresses, a)
	s.bill(c.Account.ID, c.Region, a.id, "address", "", 0, addressUSD, c.Now)
	return done{true}, nil
}

type describeAddressesIn struct {
	Filters       []filter `aws:"Filter"`
	AllocationIDs []string `aws:"AllocationId"`
}

type describeAddressesOut struct {
	Addresses []*Address `aws:"addressesSet"`
}

func (s *Service) describeAddresses(c *world.Call, in describeAddressesIn) (out describeAddressesOut, err error) {
	out.Addresses, _, err = describe(c, addressKind, s.at(c).Addresses, in.AllocationIDs, listing{Filters: in.Filters}, keys[*Address]{
		"allocation-id": one(func(a *Address) string { return a.AllocationID }),
		"public-ip":     one(func(a *Address) string { return a.PublicIP }),
	})
	return out, err
}

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
}

type natAddress struct {
	AllocationID string
	PublicIP     string
	IsPrimary    bool
	Status       string
}

// natTakes is how long a NAT gateway takes to come and to go.
const natTakes = time.Minute

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
	tags := tagsFor(in.TagSpecifications, "natgateway")
	if err := mayCreate(c, "natgateway", tags, nil); err != nil {
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

func (s *Service) addNatGateway(c *world.Call, subnet *Subnet, address *Address, tags []Tag) *NatGateway {
	id := s.world.NewID("nat")
	address.AssociationID = s.world.NewID("eipassoc")
	g := &NatGateway{
		meta: meta{id, c.Now, tags}, NatGatewayID: id, SubnetID: subnet.id, VPCID: subnet.VPCID, State: "pending", Connectivity: "public",
		Addresses: []natAddress{{address.id, address.PublicIP, true, "succeeded"}}, CreateTime: c.Now,
	}
	r := s.at(c)
	r.NatGateways = append(r.NatGateways, g)
	s.bill(c.Account.ID, c.Region, id, "nat gateway", "", 1, natGatewayUSD, c.Now)
	return g
}

type natGatewayIn struct {
	NatGatewayID string
}

func (s *Service) deleteNatGateway(c *world.Call, in natGatewayIn) (out natGatewayIn, err error) {
	g, err := find(c, natGatewayKind, s.at(c).NatGateways, in.NatGatewayID)
	if err != nil {
		return out, err
	}
	if err := mayChange(c, natGatewayKind, g); err != nil {
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
	case g.State == "deleting" && !now.Before(g.DeleteTime.Add(natTakes)):
		g.State = "deleted"
		for _, a := range r.Addresses {
			if a.id == g.Addresses[0].AllocationID {
				a.AssociationID = ""
			}
		}
	}
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
