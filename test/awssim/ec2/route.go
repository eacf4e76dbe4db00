package ec2

import (
	"slices"
	"strings"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

type route struct {
	DestinationCidrBlock string
	GatewayID            string
	NatGatewayID         string
	Origin               string
	State                string
}

type routeIn struct {
	RouteTableID         string
	DestinationCidrBlock string
	GatewayID            string
	NatGatewayID         string
}

func (s *Service) createRoute(c *world.Call, in routeIn) (done, error) {
	r := s.at(c)
	t, err := change(c, routeTableKind, r.RouteTables, in.RouteTableID)
	if err != nil {
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
	t, err := change(c, routeTableKind, s.at(c).RouteTables, in.RouteTableID)
	if err != nil {
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
