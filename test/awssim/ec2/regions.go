package ec2

import (
	"maps"
	"slices"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

type describeRegionsIn struct {
	RegionNames []string `aws:"RegionName"`
	AllRegions  bool
	Filters     []filter `aws:"Filter"`
}

type regionInfo struct {
	RegionName  string
	Endpoint    string `aws:"regionEndpoint"`
	OptInStatus string
}

type describeRegionsOut struct {
	Regions []regionInfo `aws:"regionInfo"`
}

// domains are where each partition of AWS is found.
var domains = map[string]string{"aws": "amazonaws.com", "aws-us-gov": "amazonaws.com", "aws-cn": "amazonaws.com.cn"}

func (s *Service) describeRegions(c *world.Call, in describeRegionsIn) (out describeRegionsOut, err error) {
	var all []regionInfo
	for _, name := range slices.Sorted(maps.Keys(s.world.Facts.Regions)) {
		r := s.world.Facts.Regions[name]
		if r.Partition == c.Account.Partition {
			all = append(all, regionInfo{name, "ec2." + name + "." + domains[r.Partition], c.Account.OptInStatus(name, r)})
		}
	}
	for _, name := range in.RegionNames {
		if !slices.ContainsFunc(all, func(r regionInfo) bool { return r.RegionName == name }) {
			return out, wire.Errorf("InvalidParameterValue", "Invalid region names: %s", name)
		}
	}
	all = slices.DeleteFunc(all, func(r regionInfo) bool {
		named := slices.Contains(in.RegionNames, r.RegionName)
		return len(in.RegionNames) > 0 && !named || !in.AllRegions && r.OptInStatus == "not-opted-in" && !named
	})
	out.Regions, err = apply(all, in.Filters, keys[regionInfo]{
		"region-name":   one(func(r regionInfo) string { return r.RegionName }),
		"endpoint":      one(func(r regionInfo) string { return r.Endpoint }),
		"opt-in-status": one(func(r regionInfo) string { return r.OptInStatus }),
	})
	return out, err
}

type describeAvailabilityZonesIn struct {
	ZoneNames            []string `aws:"ZoneName"`
	ZoneIDs              []string `aws:"ZoneId"`
	AllAvailabilityZones bool
	Filters              []filter `aws:"Filter"`
}

type zoneInfo struct {
	OptInStatus        string
	Messages           []struct{} `aws:"messageSet"`
	RegionName         string
	ZoneName           string
	ZoneID             string
	GroupName          string
	NetworkBorderGroup string
	ZoneType           string
	State              string `aws:"zoneState"`
}

type describeAvailabilityZonesOut struct {
	Zones []zoneInfo `aws:"availabilityZoneInfo"`
}

func (s *Service) describeAvailabilityZones(c *world.Call, in describeAvailabilityZonesIn) (out describeAvailabilityZonesOut, err error) {
	var all []zoneInfo
	for _, z := range c.Account.Zones(c.RegionFacts()) {
		all = append(all, zoneInfo{
			OptInStatus: "opt-in-not-required", RegionName: c.Region, ZoneName: z.Name, ZoneID: z.ID,
			GroupName: c.Region + "-zg-1", NetworkBorderGroup: c.Region, ZoneType: "availability-zone", State: "available",
		})
	}
	for _, name := range slices.Concat(in.ZoneNames, in.ZoneIDs) {
		if !slices.ContainsFunc(all, func(z zoneInfo) bool { return z.ZoneName == name || z.ZoneID == name }) {
			return out, wire.Errorf("InvalidParameterValue", "Invalid availability zone: [%s]", name)
		}
	}
	all = slices.DeleteFunc(all, func(z zoneInfo) bool {
		return len(in.ZoneNames) > 0 && !slices.Contains(in.ZoneNames, z.ZoneName) || len(in.ZoneIDs) > 0 && !slices.Contains(in.ZoneIDs, z.ZoneID)
	})
	out.Zones, err = apply(all, in.Filters, keys[zoneInfo]{
		"region-name":          one(func(z zoneInfo) string { return z.RegionName }),
		"zone-name":            one(func(z zoneInfo) string { return z.ZoneName }),
		"zone-id":              one(func(z zoneInfo) string { return z.ZoneID }),
		"zone-type":            one(func(z zoneInfo) string { return z.ZoneType }),
		"group-name":           one(func(z zoneInfo) string { return z.GroupName }),
		"network-border-group": one(func(z zoneInfo) string { return z.NetworkBorderGroup }),
		"opt-in-status":        one(func(z zoneInfo) string { return z.OptInStatus }),
		"state":                one(func(z zoneInfo) string { return z.State }),
	})
	return out, err
}
