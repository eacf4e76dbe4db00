package ec2

import (
	"slices"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

var securityGroupKind = kind{"security-group", "security group", "InvalidGroup.NotFound", pages{5, 1000}, nil}

// SecurityGroup says which traffic may reach, and leave, what is in it.
type SecurityGroup struct {
	meta
	GroupID     string
	ARN         string `aws:"securityGroupArn"`
	GroupName   string
	Description string `aws:"groupDescription"`
	OwnerID     string
	VPCID       string
	Ingress     []groupRule `aws:"ipPermissions"`
	Egress      []groupRule `aws:"ipPermissionsEgress"`
}

func (s *Service) addSecurityGroup(c *world.Call, v *VPC, name, description string, tags []Tag) *SecurityGroup {
	id := s.world.NewID("sg")
	g := &SecurityGroup{
		meta: meta{id, c.Now, tags}, GroupID: id, ARN: c.Account.ARN("ec2", c.Region, "security-group/"+id), GroupName: name,
		Description: description, OwnerID: c.Account.ID, VPCID: v.id,
		Egress: []groupRule{{IPProtocol: "-1", IPRanges: []addressRange{{CidrIP: "0.0.0.0/0"}}}},
	}
	if name == "default" {
		g.Ingress = []groupRule{{IPProtocol: "-1", Groups: []peerGroup{{GroupID: id, UserID: c.Account.ID}}}}
	}
	r := s.at(c)
	r.SecurityGroups = append(r.SecurityGroups, g)
	return g
}

type createSecurityGroupIn struct {
	GroupName         string
	GroupDescription  string
	VPCID             string
	TagSpecifications []tagSpecification `aws:"TagSpecification"`
}

type createSecurityGroupOut struct {
	GroupID string
	ARN     string `aws:"securityGroupArn"`
	Tags    []Tag  `aws:"tagSet"`
}

func (s *Service) createSecurityGroup(c *world.Call, in createSecurityGroupIn) (out createSecurityGroupOut, err error) {
	tags, err := mayCreate(c, securityGroupKind, in.TagSpecifications, nil)
	if err != nil {
		return out, err
	}
	r := s.at(c)
	v, err := find(c, vpcKind, r.VPCs, in.VPCID)
	if err != nil {
		return out, err
	}
	if slices.ContainsFunc(r.SecurityGroups, func(g *SecurityGroup) bool { return g.VPCID == v.id && g.GroupName == in.GroupName }) {
		return out, wire.Errorf("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", in.GroupName, v.id)
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	g := s.addSecurityGroup(c, v, in.GroupName, in.GroupDescription, tags)
	return createSecurityGroupOut{g.id, g.ARN, tags}, nil
}

type describeSecurityGroupsIn struct {
	listing
	GroupIDs []string `aws:"GroupId"`
}

type describeSecurityGroupsOut struct {
	SecurityGroups []*SecurityGroup `aws:"securityGroupInfo"`
	NextToken      string
}

func (s *Service) describeSecurityGroups(c *world.Call, in describeSecurityGroupsIn) (out describeSecurityGroupsOut, err error) {
	out.SecurityGroups, out.NextToken, err = describe(c, securityGroupKind, s.at(c).SecurityGroups, in.GroupIDs, in.listing, keys[*SecurityGroup]{
		"group-id":    one(func(g *SecurityGroup) string { return g.GroupID }),
		"group-name":  one(func(g *SecurityGroup) string { return g.GroupName }),
		"description": one(func(g *SecurityGroup) string { return g.Description }),
		"vpc-id":      one(func(g *SecurityGroup) string { return g.VPCID }),
	})
	return out, err
}

type deleteSecurityGroupIn struct {
	GroupID string
}

type deleteSecurityGroupOut struct {
	Return  bool
	GroupID string
}

func (s *Service) deleteSecurityGroup(c *world.Call, in deleteSecurityGroupIn) (out deleteSecurityGroupOut, err error) {
	r := s.at(c)
	g, err := change(c, securityGroupKind, r.SecurityGroups, in.GroupID)
	if err != nil {
		return out, err
	}
	if g.GroupName == "default" {
		return out, wire.Errorf("CannotDelete", "the specified group: \"%s\" name: \"default\" cannot be deleted by a user", g.id)
	}
	if r.groupInUse(g) {
		return out, wire.Errorf("DependencyViolation", "resource %s has a dependent object", g.id)
	}
	r.SecurityGroups = remove(r.SecurityGroups, g)
	return deleteSecurityGroupOut{true, g.id}, nil
}

// defaultGroup is the id of the group that every VPC has.
func (r *region) defaultGroup(vpc string) string {
	i := slices.IndexFunc(r.SecurityGroups, func(g *SecurityGroup) bool { return g.VPCID == vpc && g.GroupName == "default" })
	return r.SecurityGroups[i].id
}

// groupInUse tells whether an instance is in the group, or another group's
// rules name it.
func (r *region) groupInUse(g *SecurityGroup) bool {
	for _, i := range r.Instances {
		if i.State.Name != "terminated" && slices.ContainsFunc(i.Groups, func(have groupName) bool { return have.GroupID == g.id }) {
			return true
		}
	}
	for _, other := range r.SecurityGroups {
		for _, p := range slices.Concat(other.Ingress, other.Egress) {
			if other != g && slices.ContainsFunc(p.Groups, func(peer peerGroup) bool { return peer.GroupID == g.id }) {
				return true
			}
		}
	}
	return false
}
