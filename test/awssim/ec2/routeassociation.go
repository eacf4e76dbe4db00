package ec2

import (
	"slices"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

type routeAssociation struct {
	Main          bool
	AssociationID string `aws:"routeTableAssociationId"`
	RouteTableID  string
	SubnetID      string
	State         stateName `aws:"associationState"`
}

func association(id, table, subnet string, main bool) routeAssociation {
	return routeAssociation{main, id, table, subnet, stateName{"associated"}}
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
	t, err := change(c, routeTableKind, r.RouteTables, in.RouteTableID)
	if err != nil {
		return out, err
	}
	subnet, err := find(c, subnetKind, r.Subnets, in.SubnetID)
	if err != nil {
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
