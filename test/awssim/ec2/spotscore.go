package ec2

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

type spotScoresIn struct {
	world.Paging
	InstanceTypes      []string `aws:"InstanceType"`
	TargetCapacity     int
	TargetCapacityUnit string   `aws:"TargetCapacityUnitType"`
	SingleZone         bool     `aws:"SingleAvailabilityZone"`
	RegionNames        []string `aws:"RegionName"`
}

type spotScore struct {
	Region string
	ZoneID string `aws:"availabilityZoneId"`
	Score  int
}

type spotScoresOut struct {
	Scores    []spotScore `aws:"spotPlacementScoreSet"`
	NextToken string
}

// Of placement scores, from AWS's documentation.
const (
	maxScores = 10             // places in an answer, the best
	fewTypes  = 3              // with fewer instance types the score is always low
	lowScore  = 3              // which we take that to be
	scoredFor = 24 * time.Hour // in which new configurations are counted
)

var scorePages = pages{10, 1000}

// spotScores rates places from 1 to 10 by the stock that they have.
func (s *Service) spotScores(c *world.Call, in spotScoresIn) (out spotScoresOut, err error) {
	if err := s.checkScores(c, in); err != nil {
		return out, err
	}
	if err := s.countConfiguration(c, in); err != nil {
		return out, err
	}
	regions := in.RegionNames
	if len(regions) == 0 {
		for name := range s.world.Facts.Regions {
			if s.usable(c, name) {
				regions = append(regions, name)
			}
		}
	}
	var scores []spotScore
	for _, region := range regions {
		scores = append(scores, s.score(c, in, region)...)
	}
	slices.SortFunc(scores, func(a, b spotScore) int {
		if a.Score != b.Score {
			return b.Score - a.Score
		}
		return strings.Compare(a.Region+a.ZoneID, b.Region+b.ZoneID)
	})
	out.Scores, out.NextToken, err = world.Page(c, in.Paging, scorePages.most, scores[:min(len(scores), maxScores)])
	return out, err
}

// usable tells whether the caller's account has a region.
func (s *Service) usable(c *world.Call, region string) bool {
	r, ok := s.world.Facts.Regions[region]
	return ok && r.Partition == c.Account.Partition && c.Account.OptInStatus(region, r) != "not-opted-in"
}

func (s *Service) checkScores(c *world.Call, in spotScoresIn) error {
	switch {
	case in.TargetCapacity < 1:
		return wire.Errorf("InvalidParameterValue", "Value (%d) for parameter TargetCapacity is invalid.", in.TargetCapacity)
	case len(in.InstanceTypes) == 0:
		return wire.Errorf("MissingParameter", "The request must contain the parameter InstanceTypes")
	case !slices.Contains([]string{"", "units", "vcpu", "memory-mib"}, in.TargetCapacityUnit):
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for TargetCapacityUnitType", in.TargetCapacityUnit)
	case len(in.RegionNames) > maxScores:
		return wire.Errorf("InvalidParameterValue", "The number of regions must not exceed %d", maxScores)
	}
	if err := scorePages.check(in.MaxResults); err != nil {
		return err
	}
	for _, name := range in.InstanceTypes {
		if _, ok := s.world.Facts.Types[name]; !ok {
			return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for InstanceType.", name)
		}
	}
	for _, name := range in.RegionNames {
		if !s.usable(c, name) {
			return wire.Errorf("InvalidParameterValue", "Invalid region: %s", name)
		}
	}
	return nil
}

// countConfiguration refuses one more new configuration than the account may
// ask for in 24 hours, from all regions; those that it has asked for it may repeat.
func (s *Service) countConfiguration(c *world.Call, in spotScoresIn) error {
	types, regions := slices.Sorted(slices.Values(in.InstanceTypes)), slices.Sorted(slices.Values(in.RegionNames))
	configuration := fmt.Sprint(types, in.TargetCapacity, in.TargetCapacityUnit, in.SingleZone, regions)
	used := s.scored[c.Account.ID]
	for old, first := range used {
		if c.Now.Sub(first) >= scoredFor {
			delete(used, old)
		}
	}
	if _, known := used[configuration]; known {
		return nil
	}
	if len(used) >= c.Account.NewSpotScoreLimit {
		return wire.Errorf("MaxConfigLimitExceeded", "You have exceeded your maximum allowed Spot placement configurations. You can retry configurations that you used within "+
			"the last 24 hours, or wait for 24 hours before specifying a new configuration.")
	}
	if used == nil {
		used = map[string]time.Time{}
		s.scored[c.Account.ID] = used
	}
	used[configuration] = c.Now
	return nil
}

// score rates a region or, where single zones are asked for, each of its zones.
func (s *Service) score(c *world.Call, in spotScoresIn, region string) []spotScore {
	var scores []spotScore
	best := 0
	for _, zone := range slices.Sorted(maps.Values(s.world.Facts.Regions[region].Zones)) {
		free, offered := 0, false
		for _, name := range in.InstanceTypes {
			if t := s.world.Facts.Types[name]; slices.Contains(t.Zones, zone) {
				offered = true
				free += s.world.Free(zone, name, c.Now) * s.units(name, in.TargetCapacityUnit)
			}
		}
		if !offered {
			continue
		}
		score := s.lower(c, in, region, grade(free, in.TargetCapacity))
		best = max(best, score)
		scores = append(scores, spotScore{region, zone, score})
	}
	if !in.SingleZone && best > 0 {
		return []spotScore{{Region: region, Score: best}}
	}
	return scores
}

func (s *Service) units(instanceType, unit string) int {
	switch t := s.world.Facts.Types[instanceType]; unit {
	case "vcpu":
		return t.VCPUs()
	case "memory-mib":
		return t.MemoryMiB()
	default:
		return 1
	}
}

// grade is 1 for less than is wanted, and 10 for five times as much.
func grade(free, wanted int) int {
	return int(min(10, max(1, math.Floor(float64(free)/float64(wanted)*2))))
}

// lower is the score where AWS says that it is low: of too few types, or of more
// than the quota of Spot instances lets run.
func (s *Service) lower(c *world.Call, in spotScoresIn, region string, score int) int {
	if len(in.InstanceTypes) < fewTypes {
		score = min(score, lowScore)
	}
	room := 0
	for _, name := range in.InstanceTypes {
		instances, _ := s.room(c.Account, region, name, true)
		room = max(room, instances*s.units(name, in.TargetCapacityUnit))
	}
	if room < in.TargetCapacity {
		score = 1
	}
	return score
}
