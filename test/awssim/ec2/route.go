package ec2

import (
	"slices"
	"strings"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

var routeTableKind = kind{"route-table", "routeTable ID", "InvalidRouteTableID.NotFound", pages{5, 100}, nil}

// RouteTable says where the traffic of subnets goes. A subnet is private if no
// route of its table leads to an internet gateway.
type RouteTable struct {
	meta
	RouteTableID string
	VPCID        string
	OwnerID      string
	Associations []routeAssociation `aws:"associationSet"`
	Routes       []route            `aws:"routeSet"`
}

type routeAssociation struct {
	Main          bool
	AssociationID string `aws:"routeTableAssociationId"`
	RouteTableID  string
	SubnetID      string
	State         stateName `aws:"associationState"`
}

type stateName struct {
	State string
}

type route struct {
	DestinationCidrBlock string
	GatewayID            string
	NatGatewayID         string
	Origin               string
	State                string
}

func association(id, table, subnet string, main bool) routeAssociation {
	return routeAssociation{main, id, table, subnet, stateName{"associated"}}
}

func (t *RouteTable) main() bool {
	return slices.ContainsFunc(t.Associations, func(a routeAssociation) bool { return a.Main })
}

func (s *Service) addRouteTable(c *world.Call, v *VPC, tags []Tag) *RouteTable {
	id := s.world.NewID("rtb")
	t := &RouteTable{
		meta: meta{id, c.Now, tags}, RouteTableID: id, VPCID: v.id, OwnerID: c.Account.ID,
		Routes: []route{{DestinationCidrBlock: v.CidrBlock, GatewayID: "local", Origin: "CreateRouteTable", State: "active"}},
	}
	r := s.at(c)
	r.RouteTables = append(r.RouteTables, t)
	return t
}

type createRouteTableIn struct {
	VPCID             string
	ClientToken       string
	TagSpecifications []tagSpecification `aws:"TagSpecification"`
}

type routeTableOut struct {
	RouteTable *RouteTable
}

func (s *Service) createRouteTable(c *world.Call, in createRouteTableIn) (out routeTableOut, err error) {
	tags := tagsFor(in.TagSpecifications, "route-table")
	if err := mayCreate(c, "route-table", tags, nil); err != nil {
		return out, err
	}
	v, err := find(c, vpcKind, s.at(c).VPCs, in.VPCID)
	if err != nil {
		return out, err
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	return world.Once(c, in.ClientToken, func() (routeTableOut, error) { return routeTableOut{s.addRouteTable(c, v, tags)}, nil })
}

type describeRouteTablesIn struct {
	listing
	RouteTableIDs []string `aws:"RouteTableId"`
}

type describeRouteTablesOut struct {
	RouteTables []*RouteTable `aws:"routeTableSet"`
	NextToken   string
}

func (s *Service) describeRouteTables(c *world.Call, in describeRouteTablesIn) (out describeRouteTablesOut, err error) {
	associations := func(value func(routeAssociation) string) func(*RouteTable) []string {
		return func(t *RouteTable) (all []string) {
			for _, a := range t.Associations {
				all = append(all, value(a))
			}
			return all
		}
	}
	routes := func(value func(route) string) func(*RouteTable) []string {
		return func(t *RouteTable) (all []string) {
			for _, r := range t.Routes {
				all = append(all, value(r))
			}
			return all
		}
	}
	out.RouteTables, out.NextToken, err = describe(c, routeTableKind, s.at(c).RouteTables, in.RouteTableIDs, in.listing, keys[*RouteTable]{
		"route-table-id":                         one(func(t *RouteTable) string { return t.RouteTableID }),
		"vpc-id":                                 one(func(t *RouteTable) string { return t.VPCID }),
		"association.subnet-id":                  associations(func(a routeAssociation) string { return a.SubnetID }),
		"association.route-table-association-id": associations(func(a routeAssociation) string { return a.AssociationID }),
		"association.main":                       associations(func(a routeAssociation) string { return yes(a.Main) }),
		"route.gateway-id":                       routes(func(r route) string { return r.GatewayID }),
		"route.nat-gateway-id":                   routes(func(r route) string { return r.NatGatewayID }),
		"route.destination-cidr-block":           routes(func(r route) string { return r.DestinationCidrBlock }),
	})
	return out, err
}

type routeTableIn struct {
	RouteTableID string
}

func (s *Service) deleteRouteTable(c *world.Call, in routeTableIn) (done, error) {
	r := s.at(c)
	t, err := find(c, routeTableKind, r.RouteTables, in.RouteTableID)
	if err != nil {
		return done{}, err
	}
	if err := mayChange(c, routeTableKind, t); err != nil {
		return done{}, err
	}
	if len(t.Associations) > 0 {
		return done{}, wire.Errorf("DependencyViolation", "The routeTable '%s' has dependencies and cannot be deleted.", t.id)
	}
	r.RouteTables = remove(r.RouteTables, t)
	return done{true}, nil
}

type routeIn struct {
	RouteTableID         string
	DestinationCidrBlock string
	GatewayID            string
	NatGatewayID         string
}

func (s *Service) createRoute(c *world.Call, in routeIn) (done, error) {
	r := s.at(c)
	t, err := find(c, routeTableKind, r.RouteTables, in.RouteTableID)
	if err != nil {
		return done{}, err
	}
	if err := mayChange(c, routeTableKind, t); err != nil {
		return done{}, err
	}
	switch {
	case strings.HasPrefix(in.GatewayID, "igw-"):
		_, err = find(c, internetGatewayKind, r.InternetGateways, in.GatewayID)
	case in.NatGatewayID != "":
		_, err = find(c, natGatewayKind, r.NatGateways, in.NatGatewayID)
	default:
		err = wire.Errorf("MissingParameter", "The request must contain exactly one of gatewayId, natGatewayId")
	}
	if err != nil {
		return done{}, err
	}
	if slices.ContainsFunc(t.Routes, func(have route) bool { return have.DestinationCidrBlock == in.DestinationCidrBlock }) {
		return done{}, wire.Errorf("RouteAlreadyExists", "The route identified by %s already exists.", in.DestinationCidrBlock)
	}
	t.Routes = append(t.Routes, route{in.DestinationCidrBlock, in.GatewayID, in.NatGatewayID, "CreateRoute", "active"})
	return done{true}, nil
}

type deleteRouteIn struct {
	RouteTableID         string
	DestinationCidrBlock string
}

func (s *Service) deleteRoute(c *world.Call, in deleteRouteIn) (done, error) {
	t, err := find(c, routeTableKind, s.at(c).RouteTables, in.RouteTableID)
	if err != nil {
		return done{}, err
	}
	if err := mayChange(c, routeTableKind, t); err != nil {
		return done{}, err
	}
	i := slices.IndexFunc(t.Routes, func(have route) bool { return have.DestinationCidrBlock == in.DestinationCidrBlock })
	switch {
	case i < 0:
		return done{}, wire.Errorf("InvalidRoute.NotFound", "no route with destination-cidr-block %s in route table %s", in.DestinationCidrBlock, t.id)
	case t.Routes[i].GatewayID == "local":
		return done{}, wire.Errorf("InvalidParameterValue", "cannot remove local route %s in route table %s", in.DestinationCidrBlock, t.id)
	}
	t.Routes = slices.Delete(t.Routes, i, i+1)
	return done{true}, nil
}

type associateRouteTableIn struct {
	RouteTableID string
	SubnetID     string
}

type associateRouteTableOut struct {
	AssociationID string
	State         stateName `aws:"associationState"`
}

func (s *Service) associateRouteTable(c *world.Call, in associateRouteTableIn) (out associateRouteTableOut, err error) {
	r := s.at(c)
	t, err := find(c, routeTableKind, r.RouteTables, in.RouteTableID)
	if err != nil {
		return out, err
	}
	subnet, err := find(c, subnetKind, r.Subnets, in.SubnetID)
	if err != nil {
		return out, err
	}
	if err := mayChange(c, routeTableKind, t); err != nil {
		return out, err
	}
	switch {
	case subnet.VPCID != t.VPCID:
		return out, wire.Errorf("InvalidParameterValue", "route table %s and subnet %s belong to different networks", t.id, subnet.id)
	case r.associated(subnet.id):
		return out, wire.Errorf("Resource.AlreadyAssociated", "the specified association for route table %s conflicts with an existing association", t.id)
	}
	a := association(s.world.NewID("rtbassoc"), t.id, subnet.id, false)
	t.Associations = append(t.Associations, a)
	return associateRouteTableOut{a.AssociationID, a.State}, nil
}

// associated tells whether the subnet has a table of its own.
func (r *region) associated(subnet string) bool {
	return slices.ContainsFunc(r.RouteTables, func(t *RouteTable) bool {
		return slices.ContainsFunc(t.Associations, func(a routeAssociation) bool { return a.SubnetID == subnet })
	})
}

type disassociateRouteTableIn struct {
	AssociationID string
}

func (s *Service) disassociateRouteTable(c *world.Call, in disassociateRouteTableIn) (done, error) {
	for _, t := range s.at(c).RouteTables {
		i := slices.IndexFunc(t.Associations, func(a routeAssociation) bool { return a.AssociationID == in.AssociationID })
		if i < 0 {
			continue
		}
		if err := mayChange(c, routeTableKind, t); err != nil {
			return done{}, err
		}
		if t.Associations[i].Main {
			return done{}, wire.Errorf("InvalidParameterValue", "cannot disassociate the main route table association %s", in.AssociationID)
		}
		t.Associations = slices.Delete(t.Associations, i, i+1)
		return done{true}, nil
	}
	return done{}, wire.Errorf("InvalidAssociationID.NotFound", "The association ID '%s' does not exist", in.AssociationID)
}
