package ec2

import (
	"reflect"
	"slices"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// permission is traffic of one protocol, "-1" for all, with some peers.
type permission struct {
	IPProtocol string
	FromPort   *int
	ToPort     *int
	Groups     []peerGroup
	IPRanges   []addressRange
}

type peerGroup struct {
	GroupID     string
	UserID      string
	Description string
}

type addressRange struct {
	CidrIP      string
	Description string
}

// single splits a permission into those with one peer each, as AWS stores them.
func (p permission) single() []permission {
	var all []permission
	for _, g := range p.Groups {
		all = append(all, permission{p.IPProtocol, p.FromPort, p.ToPort, []peerGroup{g}, nil})
	}
	for _, r := range p.IPRanges {
		all = append(all, permission{p.IPProtocol, p.FromPort, p.ToPort, nil, []addressRange{r}})
	}
	return all
}

// same tells whether two permissions allow the same; descriptions say nothing.
func (p permission) same(other permission) bool {
	bare := func(p permission) permission {
		p.Groups, p.IPRanges = slices.Clone(p.Groups), slices.Clone(p.IPRanges)
		for i := range p.Groups {
			p.Groups[i].Description, p.Groups[i].UserID = "", ""
		}
		for i := range p.IPRanges {
			p.IPRanges[i].Description = ""
		}
		return p
	}
	return reflect.DeepEqual(bare(p), bare(other))
}

type permissionsIn struct {
	GroupID     string
	Permissions []permission `aws:"IpPermissions"`
}

// authorize adds permissions to one side of a group.
func (s *Service) authorize(side func(*SecurityGroup) *[]permission) func(*world.Call, permissionsIn) (done, error) {
	return func(c *world.Call, in permissionsIn) (done, error) {
		g, err := s.changeGroup(c, in.GroupID)
		if err != nil {
			return done{}, err
		}
		rules := side(g)
		added := slices.Clone(*rules)
		for _, p := range in.Permissions {
			for _, rule := range p.single() {
				if slices.ContainsFunc(added, rule.same) {
					return done{}, wire.Errorf("InvalidPermission.Duplicate", "the specified rule already exists")
				}
				added = append(added, rule)
			}
		}
		*rules = added
		return done{true}, nil
	}
}

// revoke takes permissions from one side of a group.
func (s *Service) revoke(side func(*SecurityGroup) *[]permission) func(*world.Call, permissionsIn) (done, error) {
	return func(c *world.Call, in permissionsIn) (done, error) {
		g, err := s.changeGroup(c, in.GroupID)
		if err != nil {
			return done{}, err
		}
		rules := side(g)
		left := slices.Clone(*rules)
		for _, p := range in.Permissions {
			for _, rule := range p.single() {
				if !slices.ContainsFunc(left, rule.same) {
					return done{}, wire.Errorf("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
				}
				left = slices.DeleteFunc(left, rule.same)
			}
		}
		*rules = left
		return done{true}, nil
	}
}

func ingress(g *SecurityGroup) *[]permission { return &g.Ingress }
func egress(g *SecurityGroup) *[]permission  { return &g.Egress }
