package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/trainyard/trainyard/internal/awsapi"
)

func TestCheckBlock(t *testing.T) {
	for _, days := range []time.Duration{1, 2, 13, 14, 21, 28, 175, 182} {
		if err := CheckBlock(days * day); err != nil {
			t.Errorf("%d days: %v", days, err)
		}
	}
	for length, near := range map[time.Duration]string{
		-time.Hour: "is 1d", 0: "is 1d", 12 * time.Hour: "is 1d", 36 * time.Hour: "are 1d and 2d", 15 * day: "are 14d and 21d",
		14*day + time.Hour: "are 14d and 21d", 180 * day: "are 175d and 182d", 183 * day: "is 182d", 400 * day: "is 182d",
	} {
		if err := CheckBlock(length); !strings.HasSuffix(fmt.Sprint(err), "the nearest "+near) {
			t.Errorf("%s: %v, want the nearest %s", length, err, near)
		}
	}
}

// seller is an AWS that sells blocks of up to a size, in an order of its own.
type seller struct {
	awsapi.EC2

	most  int
	asked []int
}

func (s *seller) DescribeCapacityBlockOfferings(_ context.Context, in *ec2.DescribeCapacityBlockOfferingsInput, _ ...func(*ec2.Options)) (*ec2.DescribeCapacityBlockOfferingsOutput, error) {
	n := int(*in.InstanceCount)
	s.asked = append(s.asked, n)
	out := &ec2.DescribeCapacityBlockOfferingsOutput{}
	if n > s.most {
		return out, nil
	}
	for _, d := range []int{9, 2, 5} {
		out.CapacityBlockOfferings = append(out.CapacityBlockOfferings, types.CapacityBlockOffering{
			AvailabilityZone: aws.String("us-east-2a"), InstanceCount: in.InstanceCount, UpfrontFee: aws.String("100"),
			StartDate: aws.Time(time.Unix(0, 0).AddDate(0, 0, d)),
		})
	}
	return out, nil
}

// TestBlockSizes: AWS sells powers of two; of what it has, the first comes first.
func TestBlockSizes(t *testing.T) {
	for nodes, want := range map[int][]int{1: {1}, 3: {4}, 60: {64, 32, 16, 8, 4}, 100: {64, 32, 16, 8, 4}, 12: {16, 8, 4}} {
		s := &seller{most: 4}
		need := needOf(t, "p5.48xlarge", nodes)
		zones, err := blocksOf(t.Context(), s, need.Types[0], need)
		if err != nil || !slices.Equal(s.asked, want) {
			t.Errorf("for %d nodes blocks of %v were asked for, want %v; error %v", nodes, s.asked, want, err)
		}
		blocks := zones["us-east-2a"]
		if len(blocks) != 3 || !slices.IsSortedFunc(blocks, func(a, b Block) int { return a.Start.Compare(b.Start) }) {
			t.Errorf("blocks %+v", blocks)
		}
	}
}
