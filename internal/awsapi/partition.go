package awsapi

import (
	"slices"
	"strings"
)

// partition is a part of AWS. Accounts of one know nothing of another.
type partition struct {
	name    string
	prefix  string   // of its regions' names
	prices  string   // the region that has its price list; "": none
	regions []string // that every account of it has, the one to ask first
	more    []string // that an account must enable
}

// partitions are those of AWS. Sources: the SDK's table of partitions, the
// account management guide, AWS's table of endpoints of the Price List service.
var partitions = []partition{
	{name: "aws-cn", prefix: "cn-", prices: "cn-northwest-1", regions: []string{"cn-north-1", "cn-northwest-1"}},
	{name: "aws-us-gov", prefix: "us-gov-", regions: []string{"us-gov-west-1", "us-gov-east-1"}},
	{name: "aws-iso", prefix: "us-iso-", regions: []string{"us-iso-east-1", "us-iso-west-1"}},
	{name: "aws-iso-b", prefix: "us-isob-", regions: []string{"us-isob-east-1", "us-isob-west-1"}},
	{name: "aws-iso-e", prefix: "eu-isoe-", regions: []string{"eu-isoe-west-1"}},
	{name: "aws-iso-f", prefix: "us-isof-", regions: []string{"us-isof-south-1", "us-isof-east-1"}},
	{name: "aws-eusc", prefix: "eusc-", regions: []string{"eusc-de-east-1"}},
	{
		name: "aws", prices: "us-east-1",
		regions: []string{
			"us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "sa-east-1",
			"eu-central-1", "eu-north-1", "eu-west-1", "eu-west-2", "eu-west-3",
			"ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-southeast-1", "ap-southeast-2",
		},
		more: []string{
			"af-south-1", "ap-east-1", "ap-east-2", "ap-south-2", "ap-southeast-3", "ap-southeast-4", "ap-southeast-5", "ap-southeast-6", "ap-southeast-7",
			"ca-west-1", "eu-central-2", "eu-south-1", "eu-south-2", "il-central-1", "me-central-1", "me-south-1", "mx-central-1",
		},
	},
}

func partitionOf(region string) partition {
	i := slices.IndexFunc(partitions, func(p partition) bool { return strings.HasPrefix(region, p.prefix) })
	return partitions[i] // the last fits all
}

// PartitionOf is the partition of a region, by its name: "aws", "aws-cn",
// "aws-us-gov".
func PartitionOf(region string) string { return partitionOf(region).name }

// PricingRegion is the region that has the price list of a region's partition;
// "" where there is none.
func PricingRegion(region string) string { return partitionOf(region).prices }

// DefaultRegions are the regions that every account has without opting in, of
// the partition of a region, for callers who may not ask which there are.
func DefaultRegions(region string) []string { return slices.Clone(partitionOf(region).regions) }
