package ec2

import (
	"slices"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

var placementGroupKind = kind{"placement-group", "Placement Group", "InvalidPlacementGroup.Unknown", pages{5, 1000}, nil}

// PlacementGroup keeps instances close to each other, or apart.
type PlacementGroup struct {
	meta
	GroupID   string
	GroupName string
	ARN       string `aws:"groupArn"`
	Strategy  string // "cluster", "spread", "partition"
	State     string
}

type createPlacementGroupIn struct {
	GroupName         string
	Strategy          string
	TagSpecifications []tagSpecification `aws:"TagSpecification"`
}

type placementGroupOut struct {
	PlacementGroup *PlacementGroup
}

func (s *Service) createPlacementGroup(c *world.Call, in createPlacementGroupIn) (out placementGroupOut, err error) {
	tags, err := mayCreate(c, placementGroupKind, in.TagSpecifications, nil)
	if err != nil {
		return out, err
	}
	r := s.at(c)
	if r.placementGroup(in.GroupName) != nil {
		return out, wire.Errorf("InvalidPlacementGroup.Duplicate", "The placement group '%s' already exists.", in.GroupName)
	}
	if err := c.Proceed(); err != nil {
		return out, err
	}
	id := s.world.NewID("pg")
	g := &PlacementGroup{
		meta: meta{id, c.Now, tags}, GroupID: id, GroupName: in.GroupName, ARN: c.ARN("placement-group/" + in.GroupName),
		Strategy: in.Strategy, State: "available",
	}
	r.PlacementGroups = append(r.PlacementGroups, g)
	return placementGroupOut{g}, nil
}

func (r *region) placementGroup(name string) *PlacementGroup {
	i := slices.IndexFunc(r.PlacementGroups, func(g *PlacementGroup) bool { return g.GroupName == name })
	if i < 0 {
		return nil
	}
	return r.PlacementGroups[i]
}

type deletePlacementGroupIn struct {
	GroupName string
}

func (s *Service) deletePlacementGroup(c *world.Call, in deletePlacementGroupIn) (done, error) {
	r := s.at(c)
	g := r.placementGroup(in.GroupName)
	if g == nil {
		return done{}, wire.Errorf(placementGroupKind.missing, "The Placement Group '%s' is unknown.", in.GroupName)
	}
	if err := mayChange(c, placementGroupKind, g); err != nil {
		return done{}, err
	}
	if slices.ContainsFunc(r.Instances, func(i *Instance) bool { return i.Placement.GroupName == g.GroupName && i.State.Name != "terminated" }) {
		return done{}, wire.Errorf("InvalidPlacementGroup.InUse", "The placement group '%s' is in use and may not be deleted.", g.GroupName)
	}
	r.PlacementGroups = remove(r.PlacementGroups, g)
	return done{true}, nil
}

type describePlacementGroupsIn struct {
	Filters    []filter `aws:"Filter"`
	GroupIDs   []string `aws:"GroupId"`
	GroupNames []string `aws:"GroupName"`
}

type describePlacementGroupsOut struct {
	PlacementGroups []*PlacementGroup `aws:"placementGroupSet"`
}

func (s *Service) describePlacementGroups(c *world.Call, in describePlacementGroupsIn) (out describePlacementGroupsOut, err error) {
	r := s.at(c)
	for _, name := range in.GroupNames {
		g := r.placementGroup(name)
		if g == nil || !c.Visible(g.made) {
			return out, wire.Errorf(placementGroupKind.missing, "The Placement Group '%s' is unknown.", name)
		}
		in.GroupIDs = append(in.GroupIDs, g.id)
	}
	out.PlacementGroups, _, err = describe(c, placementGroupKind, r.PlacementGroups, in.GroupIDs, listing{Filters: in.Filters}, keys[*PlacementGroup]{
		"group-name": one(func(g *PlacementGroup) string { return g.GroupName }),
		"strategy":   one(func(g *PlacementGroup) string { return g.Strategy }),
		"state":      one(func(g *PlacementGroup) string { return g.State }),
	})
	return out, err
}
