package ec2

import (
	"slices"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

var internetGatewayKind = kind{"internet-gateway", "internetGateway ID", "InvalidInternetGatewayID.NotFound", pages{5, 1000}, nil}

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
	tags, err := mayCreate(c, internetGatewayKind, in.TagSpecifications, nil)
	if err != nil {
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
	g, err := change(c, internetGatewayKind, r.InternetGateways, in.InternetGatewayID)
	if err != nil {
		return done{}, err
	}
	v, err := find(c, vpcKind, r.VPCs, in.VPCID)
	if err != nil {
		return done{}, err
	}
	if len(g.Attachments) > 0 {
		return done{}, wire.Errorf("Resource.AlreadyAssociated", "resource %s is already attached to network %s", g.id, g.Attachments[0].VPCID)
	}
	g.Attachments = []gatewayAttachment{{"available", v.id}}
	return done{true}, nil
}

func (s *Service) detachInternetGateway(c *world.Call, in internetGatewayIn) (done, error) {
	g, err := change(c, internetGatewayKind, s.at(c).InternetGateways, in.InternetGatewayID)
	if err != nil {
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
	g, err := change(c, internetGatewayKind, r.InternetGateways, in.InternetGatewayID)
	if err != nil {
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
