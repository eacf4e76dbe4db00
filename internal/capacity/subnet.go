package capacity

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/trainyard/trainyard/internal/awsapi"
)

// privateSubnets finds a private subnet of an EKS cluster in each zone: one of
// its VPC's whose route table does not lead to the Internet directly. It is nil
// where the region has no such cluster.
func privateSubnets(ctx context.Context, clusters awsapi.EKS, api awsapi.EC2, name string) (map[string]string, error) {
	if name == "" {
		return nil, nil
	}
	out, err := clusters.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &name})
	switch {
	case awsapi.KindOf(err) == awsapi.NotFound:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("describing cluster %q: %w", name, err)
	case out.Cluster == nil || out.Cluster.ResourcesVpcConfig == nil:
		return nil, fmt.Errorf("describing cluster %q: it has no network yet", name)
	}
	vpc := filter("vpc-id", aws.ToString(out.Cluster.ResourcesVpcConfig.VpcId))
	tables := later(func() (routes, error) { return routesOf(ctx, api, vpc) })
	subnets, err := subnetsOf(ctx, api, vpc)
	if err != nil {
		return nil, err
	}
	routing, err := tables()
	if err != nil {
		return nil, err
	}
	private := map[string]string{}
	for _, s := range subnets {
		zone, id := aws.ToString(s.AvailabilityZone), aws.ToString(s.SubnetId)
		if !routing.public(id) && (private[zone] == "" || id < private[zone]) {
			private[zone] = id
		}
	}
	return private, nil
}

func subnetsOf(ctx context.Context, api awsapi.EC2, vpc types.Filter) (all []types.Subnet, err error) {
	pages := ec2.NewDescribeSubnetsPaginator(api, &ec2.DescribeSubnetsInput{Filters: []types.Filter{vpc}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing subnets: %w", err)
		}
		all = append(all, page.Subnets...)
	}
	return all, nil
}

// routes says which subnets lead to an internet gateway.
type routes struct {
	main     bool            // those without a table of their own do
	bySubnet map[string]bool // those with one
}

func (r routes) public(subnet string) bool {
	if public, own := r.bySubnet[subnet]; own {
		return public
	}
	return r.main
}

func routesOf(ctx context.Context, api awsapi.EC2, vpc types.Filter) (routes, error) {
	r := routes{bySubnet: map[string]bool{}}
	pages := ec2.NewDescribeRouteTablesPaginator(api, &ec2.DescribeRouteTablesInput{Filters: []types.Filter{vpc}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return r, fmt.Errorf("listing route tables: %w", err)
		}
		for _, table := range page.RouteTables {
			public := false
			for _, route := range table.Routes {
				public = public || strings.HasPrefix(aws.ToString(route.GatewayId), "igw-")
			}
			for _, a := range table.Associations {
				if aws.ToBool(a.Main) {
					r.main = public
				} else if a.SubnetId != nil {
					r.bySubnet[*a.SubnetId] = public
				}
			}
		}
	}
	return r, nil
}
