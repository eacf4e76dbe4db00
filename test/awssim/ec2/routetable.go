package ec2

import (
	"slices"
	"strconv"

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

type stateName struct {
	State string
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
	tags, err := mayCreate(c, routeTableKind, in.TagSpecifications, nil)
	if err != nil {
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
		"association.main":                       associations(func(a routeAssociation) string { return strconv.FormatBool(a.Main) }),
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
	t, err := change(c, routeTableKind, r.RouteTables, in.RouteTableID)
	if err != nil {
		return done{}, err
	}
	if len(t.Associations) > 0 {
		return done{}, wire.Errorf("DependencyViolation", "The routeTable '%s' has dependencies and cannot be deleted.", t.id)
	}
	r.RouteTables = remove(r.RouteTables, t)
	return done{true}, nil
}
