package sim_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/trainyard/trainyard/test/awssim/sim"
)

// A VPC with a private subnet, built and taken down; what is in the way is said.
func TestNetworkLifeCycle(t *testing.T) {
	s := sim.Start(t, frozen())
	c, ctx := ec2.NewFromConfig(admin(s, "us-west-2")), t.Context()
	vpc, err := c.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), TagSpecifications: []types.TagSpecification{
		{ResourceType: types.ResourceTypeVpc, Tags: []types.Tag{{Key: aws.String("Name"), Value: aws.String("test")}}},
	}})
	noError(t, err)
	v := vpc.Vpc.VpcId
	subnet, err := c.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: v, CidrBlock: aws.String("10.0.0.0/24"), AvailabilityZone: aws.String("us-west-2a")})
	noError(t, err)
	_, err = c.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: v, CidrBlock: aws.String("10.0.0.128/25")})
	wantCode(t, err, "InvalidSubnet.Conflict")
	table, err := c.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: v})
	noError(t, err)
	joined, err := c.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: table.RouteTable.RouteTableId, SubnetId: subnet.Subnet.SubnetId})
	noError(t, err)
	gateway, err := c.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{})
	noError(t, err)
	_, err = c.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: gateway.InternetGateway.InternetGatewayId, VpcId: v})
	noError(t, err)
	address, err := c.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc})
	noError(t, err)
	nat, err := c.CreateNatGateway(ctx, &ec2.CreateNatGatewayInput{SubnetId: subnet.Subnet.SubnetId, AllocationId: address.AllocationId})
	noError(t, err)
	_, err = c.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: table.RouteTable.RouteTableId, DestinationCidrBlock: aws.String("0.0.0.0/0"), NatGatewayId: nat.NatGateway.NatGatewayId})
	noError(t, err)
	group, err := c.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("efa"), Description: aws.String("all to itself"), VpcId: v})
	noError(t, err)
	itself := []types.IpPermission{{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: group.GroupId}}}}
	_, err = c.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: group.GroupId, IpPermissions: itself})
	noError(t, err)
	_, err = c.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: group.GroupId, IpPermissions: itself})
	wantCode(t, err, "InvalidPermission.Duplicate")

	launched, err := run(c, "us-west-2a", 1, func(in *ec2.RunInstancesInput) {
		in.Placement = nil
		in.NetworkInterfaces = []types.InstanceNetworkInterfaceSpecification{
			{DeviceIndex: aws.Int32(0), NetworkCardIndex: aws.Int32(0), InterfaceType: aws.String("efa"), SubnetId: subnet.Subnet.SubnetId, Groups: []string{*group.GroupId}},
		}
	})
	noError(t, err)
	if got := *launched.Instances[0].NetworkInterfaces[0].InterfaceType; got != "efa" {
		t.Errorf("the instance's interface is of the type %s", got)
	}
	_, err = c.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: subnet.Subnet.SubnetId})
	wantCode(t, err, "DependencyViolation")
	_, err = c.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: v})
	wantCode(t, err, "DependencyViolation")

	s.World.Clock.Advance(time.Hour)
	_, err = c.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{*launched.Instances[0].InstanceId}})
	noError(t, err)
	_, err = c.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: nat.NatGateway.NatGatewayId})
	noError(t, err)
	_, err = c.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: address.AllocationId})
	wantCode(t, err, "InvalidIPAddress.InUse")
	s.World.Clock.Advance(2 * time.Minute)
	_, err = c.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: address.AllocationId})
	noError(t, err)
	_, err = c.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: group.GroupId})
	noError(t, err)
	_, err = c.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: joined.AssociationId})
	noError(t, err)
	_, err = c.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: table.RouteTable.RouteTableId})
	noError(t, err)
	_, err = c.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: gateway.InternetGateway.InternetGatewayId, VpcId: v})
	noError(t, err)
	_, err = c.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: gateway.InternetGateway.InternetGatewayId})
	noError(t, err)
	_, err = c.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: subnet.Subnet.SubnetId})
	noError(t, err)
	_, err = c.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: v})
	noError(t, err)
	_, err = c.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: v})
	wantCode(t, err, "InvalidVpcID.NotFound")
	if _, perHour := total(s); perHour != 0 {
		t.Errorf("$%g an hour is left: %+v", perHour, s.Ledger())
	}
}

// part makes a VPC with a subnet and a route table.
func part(t *testing.T, c *ec2.Client, block string) (vpc, subnet, table *string) {
	t.Helper()
	v, err := c.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: &block})
	noError(t, err)
	n, err := c.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{VpcId: v.Vpc.VpcId, CidrBlock: &block})
	noError(t, err)
	r, err := c.CreateRouteTable(t.Context(), &ec2.CreateRouteTableInput{VpcId: v.Vpc.VpcId})
	noError(t, err)
	return v.Vpc.VpcId, n.Subnet.SubnetId, r.RouteTable.RouteTableId
}

func TestRouteTablesOfSubnets(t *testing.T) {
	c, ctx := ec2.NewFromConfig(admin(sim.Start(t, frozen()), "us-west-2")), t.Context()
	vpc, subnet, table := part(t, c, "10.0.0.0/24")
	_, elsewhere, _ := part(t, c, "10.1.0.0/24")
	join := func(subnet *string) error {
		_, err := c.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: table, SubnetId: subnet})
		return err
	}
	wantCode(t, join(elsewhere), "InvalidParameterValue")
	noError(t, join(subnet))
	wantCode(t, join(subnet), "Resource.AlreadyAssociated")
	out, err := c.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: []types.Filter{
		{Name: aws.String("vpc-id"), Values: []string{*vpc}}, {Name: aws.String("association.main"), Values: []string{"true"}},
	}})
	noError(t, err)
	_, err = c.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: out.RouteTables[0].Associations[0].RouteTableAssociationId})
	wantCode(t, err, "InvalidParameterValue")
	_, err = c.DeleteRoute(ctx, &ec2.DeleteRouteInput{RouteTableId: table, DestinationCidrBlock: aws.String("10.0.0.0/24")})
	wantCode(t, err, "InvalidParameterValue") // the route to the VPC itself
	_, err = c.DeleteRoute(ctx, &ec2.DeleteRouteInput{RouteTableId: table, DestinationCidrBlock: aws.String("0.0.0.0/0")})
	wantCode(t, err, "InvalidRoute.NotFound")
}

// No address is given out twice, and no more than the quota has.
func TestAddressesAreOnesOwn(t *testing.T) {
	s := sim.Start(t, frozen())
	seen := map[string]bool{}
	for _, region := range []string{"us-east-1", "us-west-2"} {
		c := ec2.NewFromConfig(admin(s, region))
		var last *string
		for n := range 6 {
			if n == 3 {
				_, err := c.ReleaseAddress(t.Context(), &ec2.ReleaseAddressInput{AllocationId: last})
				noError(t, err)
			}
			out, err := c.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{})
			noError(t, err)
			if seen[*out.PublicIp] {
				t.Errorf("%s was given out before", *out.PublicIp)
			}
			seen[*out.PublicIp], last = true, out.AllocationId
		}
		_, err := c.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{})
		wantCode(t, err, "AddressLimitExceeded")
	}
}

// A NAT gateway whose address is in use fails, as AWS's does after a while; it
// costs nothing, leaves the address to whom it is, and is seen for an hour.
func TestNatGatewayThatFails(t *testing.T) {
	s := sim.Start(t, frozen())
	c, ctx := ec2.NewFromConfig(admin(s, "us-west-2")), t.Context()
	_, subnet, _ := part(t, c, "10.0.0.0/24")
	address, err := c.AllocateAddress(ctx, &ec2.AllocateAddressInput{})
	noError(t, err)
	var ids []string
	for range 2 {
		out, err := c.CreateNatGateway(ctx, &ec2.CreateNatGatewayInput{SubnetId: subnet, AllocationId: address.AllocationId})
		noError(t, err)
		ids = append(ids, *out.NatGateway.NatGatewayId)
	}
	describe := func(id string) (types.NatGateway, error) {
		out, err := c.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{id}})
		if err != nil {
			return types.NatGateway{}, err
		}
		return out.NatGateways[0], nil
	}
	s.World.Clock.Advance(time.Minute)
	first, err := describe(ids[0])
	noError(t, err)
	second, err := describe(ids[1])
	noError(t, err)
	if first.State != types.NatGatewayStateAvailable || second.State != types.NatGatewayStateFailed || *second.FailureCode != "Resource.AlreadyAssociated" {
		t.Errorf("the gateways are %s, and %s because of %s", first.State, second.State, aws.ToString(second.FailureCode))
	}
	wantUSD(t, s, (0.045+0.005)/60, 0.045+0.005) // of one gateway and its address
	_, err = c.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: &ids[1]})
	noError(t, err)
	s.World.Clock.Advance(time.Minute)
	_, err = c.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: address.AllocationId})
	wantCode(t, err, "InvalidIPAddress.InUse")
	_, err = c.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: &ids[0]})
	noError(t, err)
	s.World.Clock.Advance(time.Hour)
	_, err = describe(ids[0])
	noError(t, err)
	s.World.Clock.Advance(time.Minute)
	for _, id := range ids {
		_, err = describe(id)
		wantCode(t, err, "NatGatewayNotFound")
	}
}

func TestTags(t *testing.T) {
	s := sim.Start(t, frozen())
	c, ctx := ec2.NewFromConfig(admin(s, "us-east-1")), t.Context()
	r, err := reserve(c, "us-east-1d", 1)
	noError(t, err)
	tag := func(key, value string) []types.Tag { return []types.Tag{{Key: &key, Value: &value}} }
	find := func(name, value string) int {
		out, err := c.DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{Filters: []types.Filter{{Name: &name, Values: []string{value}}}})
		noError(t, err)
		return len(out.CapacityReservations)
	}
	_, err = c.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{*r.CapacityReservationId}, Tags: tag("owner", "me")})
	noError(t, err)
	if find("tag:owner", "m?") != 1 || find("tag-key", "owner") != 1 || find("tag:owner", "you") != 0 {
		t.Error("filters by tag do not find what they should")
	}
	out, err := c.DescribeTags(ctx, &ec2.DescribeTagsInput{Filters: []types.Filter{{Name: aws.String("resource-type"), Values: []string{"capacity-reservation"}}}})
	noError(t, err)
	if len(out.Tags) != 1 || out.Tags[0].ResourceType != types.ResourceTypeCapacityReservation {
		t.Errorf("the tags are %+v", out.Tags)
	}
	_, err = c.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{*r.CapacityReservationId}, Tags: []types.Tag{{Key: aws.String("owner")}}})
	noError(t, err)
	if find("tag-key", "owner") != 0 {
		t.Error("the tag is still there")
	}
	_, err = c.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{"cr-00000000000000000"}, Tags: tag("a", "b")})
	wantCode(t, err, "InvalidID")
	_, err = c.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{*r.CapacityReservationId}, Tags: tag("aws:x", "b")})
	wantCode(t, err, "InvalidParameterValue")
}

func TestEFAOnATypeWithout(t *testing.T) {
	s := sim.Start(t, frozen())
	_, err := run(ec2.NewFromConfig(admin(s, "us-east-1")), "us-east-1d", 1, func(in *ec2.RunInstancesInput) {
		in.InstanceType, in.Placement = "g6.xlarge", nil
		in.NetworkInterfaces = []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), InterfaceType: aws.String("efa")}}
	})
	wantCode(t, err, "InvalidParameterCombination")
}
