package sim_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/trainyard/trainyard/test/awssim/sim"
)

// What the simulator itself takes, with the SDK's part: measurements of other
// programs against it should be far above.
func BenchmarkCalls(b *testing.B) {
	s := sim.Start(b, frozen())
	cfg := admin(s, "us-east-1")
	compute, prices := ec2.NewFromConfig(cfg), pricing.NewFromConfig(cfg)
	for name, call := range map[string]func() error{
		"DescribeVpcs": func() error {
			_, err := compute.DescribeVpcs(b.Context(), &ec2.DescribeVpcsInput{})
			return err
		},
		"DescribeInstanceTypes": func() error {
			_, err := compute.DescribeInstanceTypes(b.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"g6.12xlarge"}})
			return err
		},
		"DescribeInstanceTypeOfferings": func() error {
			_, err := compute.DescribeInstanceTypeOfferings(b.Context(), &ec2.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone})
			return err
		},
		"GetProducts": func() error {
			_, err := prices.GetProducts(b.Context(), &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: []pricingtypes.Filter{
				{Type: pricingtypes.FilterTypeTermMatch, Field: aws.String("instanceType"), Value: aws.String("g6.12xlarge")},
			}})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
