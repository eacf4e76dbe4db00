package capacity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	for n := blockSize(need.Nodes); ; n /= 2 {
		zones, err := askBlocks(ctx, api, t, n, need.Block)
		if err != nil || len(zones) > 0 || n == 1 {
			return zones, err
		}
	}
}

// maxBlock is the most instances in one Capacity Block.
const maxBlock = 64

// blockSize is the smallest Capacity Block for so many instances, or the largest
// there is. AWS sells 1, 2, 4, and so on. Source: the reference of
// DescribeCapacityBlockOfferings.
func blockSize(nodes int) int {
	n := 1
	for n < min(nodes, maxBlock) {
		n *= 2
	}
	return n
}

const day = 24 * time.Hour

// CheckBlock refuses a time for which AWS sells no Capacity Block: it sells days
// up to two weeks, and weeks up to half a year. Source: the page of Capacity
// Blocks for ML.
func CheckBlock(length time.Duration) error {
	const longest = 182 * day
	step := day
	if length > 14*day {
		step = 7 * day
	}
	if length >= day && length <= longest && length%step == 0 {
		return nil
	}
	below := min(max(length/step*step, day), longest)
	near := fmt.Sprintf("the nearest is %dd", below/day)
	if above := below + step; length > below && above <= longest {
		near = fmt.Sprintf("the nearest are %dd and %dd", below/day, above/day)
	}
	return fmt.Errorf("a Capacity Block lasts 1 to 14 days, or whole weeks up to 182 days; %s", near)
}

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
	for _, blocks := range zones {
		slices.SortStableFunc(blocks, func(a, b Block) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.USD, b.USD)) })
	}
	return zones, nil
}
