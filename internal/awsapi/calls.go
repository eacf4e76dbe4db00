package awsapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
)

// Regions lists regions and says which the account has enabled.
type Regions interface {
	DescribeRegions(context.Context, *ec2.DescribeRegionsInput, ...func(*ec2.Options)) (*ec2.DescribeRegionsOutput, error)
}

// EC2 is what is asked of EC2 in each region.
type EC2 interface {
	DescribeAvailabilityZones(context.Context, *ec2.DescribeAvailabilityZonesInput, ...func(*ec2.Options)) (*ec2.DescribeAvailabilityZonesOutput, error)
	ec2.DescribeInstanceTypeOfferingsAPIClient
	ec2.DescribeInstanceTypesAPIClient
	ec2.DescribeInstancesAPIClient
	ec2.DescribeCapacityReservationsAPIClient
	ec2.DescribeSpotPriceHistoryAPIClient
	ec2.GetSpotPlacementScoresAPIClient
	ec2.DescribeCapacityBlockOfferingsAPIClient
	ec2.DescribeSubnetsAPIClient
	ec2.DescribeRouteTablesAPIClient
}

// Reservations makes capacity reservations, and ends them.
type Reservations interface {
	ec2.DescribeCapacityReservationsAPIClient
	CreateCapacityReservation(context.Context, *ec2.CreateCapacityReservationInput, ...func(*ec2.Options)) (*ec2.CreateCapacityReservationOutput, error)
	CancelCapacityReservation(context.Context, *ec2.CancelCapacityReservationInput, ...func(*ec2.Options)) (*ec2.CancelCapacityReservationOutput, error)
	CreateTags(context.Context, *ec2.CreateTagsInput, ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error)
}

// Quotas reads quotas, and asks for more.
type Quotas interface {
	GetServiceQuota(context.Context, *servicequotas.GetServiceQuotaInput, ...func(*servicequotas.Options)) (*servicequotas.GetServiceQuotaOutput, error)
	GetAWSDefaultServiceQuota(context.Context, *servicequotas.GetAWSDefaultServiceQuotaInput, ...func(*servicequotas.Options)) (*servicequotas.GetAWSDefaultServiceQuotaOutput, error)
	servicequotas.ListRequestedServiceQuotaChangeHistoryByQuotaAPIClient
	RequestServiceQuotaIncrease(context.Context, *servicequotas.RequestServiceQuotaIncreaseInput, ...func(*servicequotas.Options)) (*servicequotas.RequestServiceQuotaIncreaseOutput, error)
}

// EKS describes clusters.
type EKS interface {
	eks.ListClustersAPIClient
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
}

// Pricing reads the price list.
type Pricing interface {
	pricing.GetProductsAPIClient
}
