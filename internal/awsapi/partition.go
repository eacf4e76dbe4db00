package awsapi

import "strings"

// The partitions of AWS: accounts of one know nothing of another.
const (
	Standard = "aws"
	China    = "aws-cn"
	GovCloud = "aws-us-gov"
)

// PartitionOf is the partition of a region, by its name.
func PartitionOf(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return China
	case strings.HasPrefix(region, "us-gov-"):
		return GovCloud
	case strings.HasPrefix(region, "us-iso-"):
		return "aws-iso"
	case strings.HasPrefix(region, "us-isob-"):
		return "aws-iso-b"
	default:
		return Standard
	}
}

// HomeRegion is a region of the partition that every account has.
func HomeRegion(partition string) string {
	switch partition {
	case China:
		return "cn-north-1"
	case GovCloud:
		return "us-gov-west-1"
	default:
		return "us-east-1"
	}
}

// PricingRegion is the region that has the partition's price list; "" where
// there is none. Source: AWS's table of endpoints of the Price List service.
func PricingRegion(partition string) string {
	switch partition {
	case Standard:
		return "us-east-1"
	case China:
		return "cn-northwest-1"
	default:
		return ""
	}
}

// DefaultRegions are the regions that every account of AWS's standard
// partition has without opting in, for callers who may not ask which there
// are. Source: the account management guide.
func DefaultRegions() []string {
	return []string{
		"ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-southeast-1", "ap-southeast-2",
		"ca-central-1", "eu-central-1", "eu-north-1", "eu-west-1", "eu-west-2", "eu-west-3",
		"sa-east-1", "us-east-1", "us-east-2", "us-west-1", "us-west-2",
	}
}
