package ec2

import (
	"reflect"
	"slices"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// groupRule is traffic of one protocol, "-1" for all, with some peers.
type groupRule struct {
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

// single splits a rule into those with one peer each, as AWS stores them.
func (rule groupRule) single() []groupRule {
	var all []groupRule
	for _, g := range rule.Groups {
		all = append(all, groupRule{rule.IPProtocol, rule.FromPort, rule.ToPort, []peerGroup{g}, nil})
	}
	for _, r := range rule.IPRanges {
		all = append(all, groupRule{rule.IPProtocol, rule.FromPort, rule.ToPort, nil, []addressRange{r}})
	}
	return all
}

// same tells whether two rules allow the same; descriptions say nothing.
func (rule groupRule) same(other groupRule) bool {
	bare := func(rule groupRule) groupRule {
		rule.Groups, rule.IPRanges = slices.Clone(rule.Groups), slices.Clone(rule.IPRanges)
		for i := range rule.Groups {
			rule.Groups[i].Description, rule.Groups[i].UserID = "", ""
		}
		for i := range rule.IPRanges {
			rule.IPRanges[i].Description = ""
		}
		return rule
	}
	return reflect.DeepEqual(bare(rule), bare(other))
}

type groupRulesIn struct {
	GroupID string
	Rules   []groupRule `aws:"IpPermissions"`
}

// authorize adds rules to one side of a group.
func (s *Service) authorize(side func(*SecurityGroup) *[]groupRule) func(*world.Call, groupRulesIn) (done, error) {
	return func(c *world.Call, in groupRulesIn) (done, error) {
		g, err := change(c, securityGroupKind, s.at(c).SecurityGroups, in.GroupID)
		if err != nil {
			return done{}, err
		}
		rules := side(g)
		added := slices.Clone(*rules)
		for _, given := range in.Rules {
			for _, rule := range given.single() {
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

// revoke takes rules from one side of a group.
func (s *Service) revoke(side func(*SecurityGroup) *[]groupRule) func(*world.Call, groupRulesIn) (done, error) {
	return func(c *world.Call, in groupRulesIn) (done, error) {
		g, err := change(c, securityGroupKind, s.at(c).SecurityGroups, in.GroupID)
		if err != nil {
			return done{}, err
		}
		rules := side(g)
		left := slices.Clone(*rules)
		for _, given := range in.Rules {
			for _, rule := range given.single() {
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

func ingress(g *SecurityGroup) *[]groupRule { return &g.Ingress }
func egress(g *SecurityGroup) *[]groupRule  { return &g.Egress }
