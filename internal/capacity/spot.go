package capacity

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/trainyard/trainyard/internal/awsapi"
)

const linux = "Linux/UNIX"

// spotPrices are those in force now, in USD an hour, by type and zone.
func spotPrices(ctx context.Context, api awsapi.EC2, need Need, now time.Time) (map[place]float64, error) {
	in := &ec2.DescribeSpotPriceHistoryInput{StartTime: &now, EndTime: &now, ProductDescriptions: []string{linux}}
	for _, t := range need.Types {
		in.InstanceTypes = append(in.InstanceTypes, types.InstanceType(t.Name))
	}
	prices, newest := map[place]float64{}, map[place]time.Time{}
	pages := ec2.NewDescribeSpotPriceHistoryPaginator(api, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading Spot prices: %w", err)
		}
		for _, p := range page.SpotPriceHistory {
			at := place{string(p.InstanceType), aws.ToString(p.AvailabilityZone)}
			usd, err := strconv.ParseFloat(aws.ToString(p.SpotPrice), 64)
			if when := aws.ToTime(p.Timestamp); err == nil && !when.Before(newest[at]) {
				prices[at], newest[at] = usd, when
			}
		}
	}
	return prices, nil
}

// scored is what a region's zones were rated for one type.
type scored struct {
	zones map[string]int // by zone id; the ten best
	asked time.Time
	stale string // why an old answer had to do
}

// score is the rating of a region's zones for as many instances as are needed.
// AWS limits how many different questions it answers a day, so an answer that is
// new enough is used again, and an old one where AWS refuses.
func (a asking) score(ctx context.Context, api awsapi.EC2, instanceType string) (scored, error) {
	question := scoreQuestion{Account: a.account, Region: a.region, Type: instanceType, Nodes: a.need.Nodes}
	old, age, known := a.scores.get(question, a.now())
	if known && age < freshScore {
		return old, nil
	}
	zones, err := askScores(ctx, api, question)
	switch {
	case err == nil:
		s := scored{zones: zones, asked: a.now()}
		a.scores.put(question, s)
		return s, nil
	case known:
		old.stale = awsapi.Brief(err)
		return old, nil
	default:
		return scored{}, err
	}
}

func askScores(ctx context.Context, api awsapi.EC2, q scoreQuestion) (map[string]int, error) {
	zones := map[string]int{}
	pages := ec2.NewGetSpotPlacementScoresPaginator(api, &ec2.GetSpotPlacementScoresInput{
		InstanceTypes: []string{q.Type}, TargetCapacity: aws.Int32(int32(q.Nodes)), TargetCapacityUnitType: types.TargetCapacityUnitTypeUnits, //nolint:gosec // at most config.MaxNodes
		SingleAvailabilityZone: aws.Bool(true), RegionNames: []string{q.Region},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("asking for Spot placement scores: %w", err)
		}
		for _, s := range page.SpotPlacementScores {
			zones[aws.ToString(s.AvailabilityZoneId)] = int(aws.ToInt32(s.Score))
		}
	}
	return zones, nil
}
