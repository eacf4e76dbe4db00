package capacity

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/instancetype"
)

// blockFamilies are those that Capacity Blocks are sold of. Source: the page of
// Capacity Blocks for ML.
var blockFamilies = []string{"p4d.", "p4de.", "p5.", "p5e.", "p5en.", "p6-b200.", "p6-b300.", "trn1.", "trn2."}

// HasBlocks tells whether Capacity Blocks of the type are sold anywhere.
func HasBlocks(instanceType string) bool {
	for _, family := range blockFamilies {
		if strings.HasPrefix(instanceType, family) {
			return true
		}
	}
	return false
}

// blocksOf lists the Capacity Blocks that can be bought in a region, by zone. AWS
// answers a request that is too large with an empty list, so fewer instances
// are asked for until there are some.
func blocksOf(ctx context.Context, api awsapi.EC2, t instancetype.Type, need Need) (map[string][]Block, error) {
	for n := min(need.Nodes, maxBlock); ; n /= 2 {
		zones, err := askBlocks(ctx, api, t, n, need.Block)
		if err != nil || len(zones) > 0 || n == 1 {
			return zones, err
		}
	}
}

// maxBlock is the most instances in one Capacity Block.
const maxBlock = 64

func askBlocks(ctx context.Context, api awsapi.EC2, t instancetype.Type, count int, length time.Duration) (map[string][]Block, error) {
	zones := map[string][]Block{}
	pages := ec2.NewDescribeCapacityBlockOfferingsPaginator(api, &ec2.DescribeCapacityBlockOfferingsInput{
		InstanceType: &t.Name, InstanceCount: aws.Int32(int32(count)), CapacityDurationHours: aws.Int32(int32(length.Hours())), //nolint:gosec // at most 64, and half a year
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing Capacity Blocks: %w", err)
		}
		for _, o := range page.CapacityBlockOfferings {
			b := Block{
				ID: aws.ToString(o.CapacityBlockOfferingId), Instances: int(aws.ToInt32(o.InstanceCount)),
				Start: aws.ToTime(o.StartDate), Hours: int(aws.ToInt32(o.CapacityBlockDurationHours)),
			}
			if b.USD, err = strconv.ParseFloat(aws.ToString(o.UpfrontFee), 64); err != nil {
				return nil, fmt.Errorf("reading the price of Capacity Block %s: %w", b.ID, err)
			}
			if hours := b.Instances * t.GPUs * b.Hours; hours > 0 {
				b.USDPerGPUHour = b.USD / float64(hours)
			}
			zone := aws.ToString(o.AvailabilityZone)
			zones[zone] = append(zones[zone], b)
		}
	}
	return zones, nil
}
