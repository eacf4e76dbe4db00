"""A network with all its parts, made and taken down by a client of EC2."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ANYWHERE = "0.0.0.0/0"


@dataclass
class Network:
    vpc: str
    subnet: str
    table: str
    association: str
    gateway: str
    address: str
    nat: str
    group: str
    wait: Callable[[int], object]


def build(ec2: Any, wait: Callable[[int], object]) -> Network:
    """Make it, describing each part; wait lets minutes pass."""
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    ec2.modify_subnet_attribute(SubnetId=subnet, MapPublicIpOnLaunch={"Value": True})
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    joined = ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)["AssociationId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    ec2.create_route(RouteTableId=table, DestinationCidrBlock=ANYWHERE, GatewayId=gateway)
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = ec2.create_nat_gateway(SubnetId=subnet, AllocationId=address)["NatGateway"]
    wait(2)
    ec2.get_waiter("nat_gateway_available").wait(NatGatewayIds=[nat["NatGatewayId"]])
    group = ec2.create_security_group(VpcId=vpc, GroupName="efa", Description="to itself")[
        "GroupId"
    ]
    ec2.create_placement_group(GroupName="close", Strategy="cluster")
    made = Network(vpc, subnet, table, joined, gateway, address, nat["NatGatewayId"], group, wait)
    open_group(ec2, made)
    describe(ec2, made)
    return made


def open_group(ec2: Any, made: Network) -> None:
    itself = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": made.group}]}]
    ports = [
        {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
    ]
    ec2.authorize_security_group_ingress(GroupId=made.group, IpPermissions=itself + ports)
    ec2.authorize_security_group_egress(GroupId=made.group, IpPermissions=itself)
    ec2.describe_security_groups(GroupIds=[made.group])
    ec2.revoke_security_group_ingress(GroupId=made.group, IpPermissions=ports)
    ec2.revoke_security_group_egress(GroupId=made.group, IpPermissions=itself)


def describe(ec2: Any, made: Network) -> None:
    ec2.describe_vpcs(VpcIds=[made.vpc])
    ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [made.vpc]}])
    ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [made.vpc]}])
    ec2.describe_internet_gateways(Filters=[{"Name": "attachment.vpc-id", "Values": [made.vpc]}])
    ec2.describe_addresses(AllocationIds=[made.address])
    ec2.describe_nat_gateways(Filter=[{"Name": "vpc-id", "Values": [made.vpc]}])
    ec2.describe_placement_groups(GroupNames=["close"])


def tear_down(ec2: Any, made: Network) -> None:
    ec2.delete_nat_gateway(NatGatewayId=made.nat)
    made.wait(2)
    ec2.describe_nat_gateways(NatGatewayIds=[made.nat])
    ec2.release_address(AllocationId=made.address)
    ec2.delete_route(RouteTableId=made.table, DestinationCidrBlock=ANYWHERE)
    ec2.disassociate_route_table(AssociationId=made.association)
    ec2.delete_route_table(RouteTableId=made.table)
    ec2.detach_internet_gateway(InternetGatewayId=made.gateway, VpcId=made.vpc)
    ec2.delete_internet_gateway(InternetGatewayId=made.gateway)
    ec2.delete_placement_group(GroupName="close")
    ec2.delete_security_group(GroupId=made.group)
    ec2.delete_subnet(SubnetId=made.subnet)
    ec2.delete_vpc(VpcId=made.vpc)
