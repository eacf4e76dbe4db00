package capacity

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/trainyard/trainyard/internal/awsapi"
)

// zone is a zone with this account's name for it.
type zone struct{ name, id string }

// place is a pair of names: of a type and a zone, or of a type and a region.
type place struct{ instanceType, where string }

// zonesOf lists a region's zones, without local zones and those of carriers.
func zonesOf(ctx context.Context, api awsapi.EC2) ([]zone, error) {
	out, err := api.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{
		Filters: []types.Filter{filter("zone-type", "availability-zone")},
	})
	if err != nil {
		return nil, fmt.Errorf("listing zones: %w", err)
	}
	zones := make([]zone, 0, len(out.AvailabilityZones))
	for _, z := range out.AvailabilityZones {
		zones = append(zones, zone{aws.ToString(z.ZoneName), aws.ToString(z.ZoneId)})
	}
	return zones, nil
}

// offersOf says in which of a region's zones the types are offered.
func offersOf(ctx context.Context, api awsapi.EC2, need Need) (offers, error) {
	all := offers{}
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(api, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone,
		Filters:      []types.Filter{filter("instance-type", need.typeNames()...)},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing where types are offered: %w", err)
		}
		for _, o := range page.InstanceTypeOfferings {
			all[string(o.InstanceType)] = append(all[string(o.InstanceType)], aws.ToString(o.Location))
		}
	}
	return all, nil
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}
