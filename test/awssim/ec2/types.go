package ec2

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/test/awssim/facts"
	"github.com/trainyard/trainyard/test/awssim/policy"
	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

type describeInstanceTypesIn struct {
	listing
	InstanceTypes              []string `aws:"InstanceType"`
	IncludeUnsupportedInRegion bool
}

type describeInstanceTypesOut struct {
	InstanceTypes []map[string]any `aws:"instanceTypeSet"`
	NextToken     string
}

// describeInstanceTypes answers AWS's own descriptions, of types that the region has.
func (s *Service) describeInstanceTypes(c *world.Call, in describeInstanceTypesIn) (out describeInstanceTypesOut, err error) {
	if in.MaxResults > 0 && len(in.InstanceTypes) > 0 {
		return out, wire.Errorf("InvalidParameterCombination", "The parameter instanceTypes cannot be used with the parameter maxResults")
	}
	size := pages{5, 100}
	if err := size.check(in.MaxResults); err != nil {
		return out, err
	}
	var all []facts.Type
	var unknown []string
	for _, name := range in.InstanceTypes {
		t, ok := s.world.Facts.Types[name]
		if !ok || !t.OfferedIn(c.RegionFacts()) && !in.IncludeUnsupportedInRegion {
			unknown = append(unknown, name)
		}
		all = append(all, t)
	}
	if len(unknown) > 0 {
		return out, wire.Errorf("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", strings.Join(unknown, ", "))
	}
	if len(in.InstanceTypes) == 0 {
		for _, name := range slices.Sorted(maps.Keys(s.world.Facts.Types)) {
			if t := s.world.Facts.Types[name]; t.OfferedIn(c.RegionFacts()) || in.IncludeUnsupportedInRegion {
				all = append(all, t)
			}
		}
	}
	kept, err := filterTypes(all, in.Filters)
	if err != nil {
		return out, err
	}
	page, next, err := world.Page(c, in.Paging, size.most, kept)
	for _, t := range page {
		out.InstanceTypes = append(out.InstanceTypes, t.Describe)
	}
	out.NextToken = next
	return out, err
}

// filterTypes keeps types that satisfy all filters. A filter is a path into the
// description, "network-info.efa-supported".
func filterTypes(all []facts.Type, filters []filter) ([]facts.Type, error) {
	for _, f := range filters {
		known := slices.ContainsFunc(all, func(t facts.Type) bool { return len(valuesAt(t.Describe, strings.Split(f.Name, "."))) > 0 })
		if !known && len(all) > 0 && !strings.Contains(f.Name, "-info.") {
			return nil, wire.Errorf("InvalidParameterValue", "The filter '%s' is invalid", f.Name)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(t facts.Type) bool {
		return slices.ContainsFunc(filters, func(f filter) bool {
			have := valuesAt(t.Describe, strings.Split(f.Name, "."))
			return !slices.ContainsFunc(f.Values, func(want string) bool {
				return slices.ContainsFunc(have, func(v string) bool { return policy.Match(want, v) })
			})
		})
	}), nil
}

// valuesAt is what a description has at a path whose parts are written with
// hyphens, and where a list is meant without its plural.
func valuesAt(node any, path []string) []string {
	switch v := node.(type) {
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, valuesAt(item, path)...)
		}
		return all
	case map[string]any:
		if len(path) == 0 {
			return nil
		}
		want := strings.ReplaceAll(path[0], "-", "")
		for name, child := range v {
			lower := strings.ToLower(name)
			if lower == want || lower == want+"s" || lower == "supported"+strings.TrimPrefix(want, "supported")+"es" {
				return valuesAt(child, path[1:])
			}
		}
		return nil
	default:
		if len(path) > 0 {
			return nil
		}
		return []string{fmt.Sprint(v)}
	}
}

type describeInstanceTypeOfferingsIn struct {
	listing
	LocationType string
}

type typeOffering struct {
	InstanceType string
	LocationType string
	Location     string
}

type describeInstanceTypeOfferingsOut struct {
	Offerings []typeOffering `aws:"instanceTypeOfferingSet"`
	NextToken string
}

func (s *Service) describeInstanceTypeOfferings(c *world.Call, in describeInstanceTypeOfferingsIn) (out describeInstanceTypeOfferingsOut, err error) {
	location, err := locations(c, in.LocationType)
	if err != nil {
		return out, err
	}
	var all []typeOffering
	for _, name := range slices.Sorted(maps.Keys(s.world.Facts.Types)) {
		seen := map[string]bool{}
		for _, zone := range s.world.Facts.Types[name].Zones {
			if where := location[zone]; where != "" && !seen[where] {
				seen[where] = true
				all = append(all, typeOffering{name, locationType(in.LocationType), where})
			}
		}
	}
	out.Offerings, out.NextToken, err = narrow(c, manyPages, all, in.listing, keys[typeOffering]{
		"instance-type": one(func(o typeOffering) string { return o.InstanceType }),
		"location":      one(func(o typeOffering) string { return o.Location }),
	})
	return out, err
}

func locationType(asked string) string {
	if asked == "" {
		return "region"
	}
	return asked
}

// locations maps the ids of the region's zones to what a location type calls them.
func locations(c *world.Call, kind string) (map[string]string, error) {
	location := map[string]string{}
	for _, zone := range c.Account.Zones(c.RegionFacts()) {
		switch locationType(kind) {
		case "region":
			location[zone.ID] = c.Region
		case "availability-zone":
			location[zone.ID] = zone.Name
		case "availability-zone-id":
			location[zone.ID] = zone.ID
		default:
			return nil, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for locationType", kind)
		}
	}
	return location, nil
}
