"""Where moto simulates the same call, its answer has the same shape as ours.

Of each call, every name that both answers have, at any depth, has the same type
in both. What only moto answers is in LEFT_OUT. What only we answer is no matter
here: test_boto3.py holds it to AWS's own model.
"""

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from simulator import Sim

Ask = Callable[[Any], Any]
CALLS: dict[tuple[str, str], Ask] = {
    ("sts", "get_caller_identity"): lambda c: c.get_caller_identity(),
    ("sts", "assume_role"): lambda c: c.assume_role(
        RoleArn="arn:aws:iam::111122223333:role/Admin", RoleSessionName="test"
    ),
    ("ec2", "describe_regions"): lambda c: c.describe_regions(RegionNames=["us-east-1"]),
    ("ec2", "describe_availability_zones"): lambda c: c.describe_availability_zones(),
    ("ec2", "describe_instance_types"): lambda c: c.describe_instance_types(
        InstanceTypes=["g6.12xlarge", "p5.48xlarge"]
    ),
    ("ec2", "describe_instance_type_offerings"): lambda c: c.describe_instance_type_offerings(
        LocationType="availability-zone-id",
        Filters=[{"Name": "instance-type", "Values": ["g6.12xlarge"]}],
    ),
    ("ec2", "describe_vpcs"): lambda c: c.describe_vpcs(
        VpcIds=[c.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]]
    ),
    ("ec2", "describe_subnets"): lambda c: c.describe_subnets(SubnetIds=[subnet(c)]),
    ("ec2", "describe_route_tables"): lambda c: c.describe_route_tables(
        Filters=[{"Name": "association.main", "Values": ["true"]}]
    ),
    ("ec2", "describe_security_groups"): lambda c: c.describe_security_groups(
        Filters=[{"Name": "group-name", "Values": ["default"]}]
    ),
    ("ec2", "run_instances"): lambda c: run(c),
    ("ec2", "describe_instances"): lambda c: c.describe_instances(
        InstanceIds=[run(c)["Instances"][0]["InstanceId"]]
    ),
    ("ec2", "terminate_instances"): lambda c: c.terminate_instances(
        InstanceIds=[run(c)["Instances"][0]["InstanceId"]]
    ),
    ("ec2", "describe_tags"): lambda c: c.describe_tags(
        Filters=[{"Name": "resource-id", "Values": [run(c)["Instances"][0]["InstanceId"]]}]
    ),
    ("ec2", "describe_spot_price_history"): lambda c: c.describe_spot_price_history(
        InstanceTypes=["t3.nano"]
    ),
    ("eks", "list_clusters"): lambda c: c.list_clusters(),
}

# Moto has a reason, a group and a description where there is none.
OF_AN_INSTANCE = (
    "BlockDeviceMappings", "MetadataOptions", "NetworkInterfaces[].Description",
    "NetworkInterfaces[].Ipv6Addresses", "Placement.GroupName", "Platform", "ProductCodes",
    "RootDeviceName", "RootDeviceType", "SriovNetSupport", "StateReason",
    "StateTransitionReason",
)  # fmt: skip
LEFT_OUT = (
    "assume_role.PackedPolicySize",
    "describe_vpcs.Vpcs[].Ipv6CidrBlockAssociationSet",
    "describe_subnets.Subnets[].AssignIpv6AddressOnCreation",
    "describe_subnets.Subnets[].Ipv6CidrBlockAssociationSet",
    "describe_subnets.Subnets[].Ipv6Native",
    "describe_subnets.Subnets[].PrivateDnsNameOptionsOnLaunch",
    "describe_security_groups.SecurityGroups[].IpPermissionsEgress[].Ipv6Ranges",
    "describe_security_groups.SecurityGroups[].IpPermissionsEgress[].PrefixListIds",
    *(f"run_instances.Instances[].{name}" for name in OF_AN_INSTANCE),
    *(f"describe_instances.Reservations[].Instances[].{name}" for name in OF_AN_INSTANCE),
)


def left_out(path: str) -> bool:
    """Whether a path is in LEFT_OUT, or below one that is."""
    return any(path == left or path.startswith((f"{left}.", f"{left}[")) for left in LEFT_OUT)


def subnet(ec2: Any) -> str:
    vpc = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    made = ec2.create_subnet(VpcId=vpc, CidrBlock="10.1.0.0/24", AvailabilityZone="us-east-1b")
    return str(made["Subnet"]["SubnetId"])


def run(ec2: Any) -> Any:
    return ec2.run_instances(
        InstanceType="t3.nano", ImageId="ami-12c6146b", MinCount=1, MaxCount=1,
        SubnetId=subnet(ec2),
        TagSpecifications=[
            {"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "test"}]}
        ],
    )  # fmt: skip


@pytest.fixture(scope="module")
def moto_url() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def shape(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each name in an answer, as a path, with the type of its value."""
    if isinstance(value, dict):
        for name, child in value.items():
            yield from shape(child, f"{path}.{name}")
    elif isinstance(value, list):
        yield path, "list"
        for child in value:
            yield from shape(child, f"{path}[]")
    else:
        yield path, type(value).__name__


@pytest.mark.parametrize(("service", "action"), CALLS)
def test_same_shapes(sim: Sim, moto_url: str, service: str, action: str) -> None:
    def answer(url: str) -> dict[str, str]:
        got = CALLS[service, action](boto3.client(service, endpoint_url=url))
        del got["ResponseMetadata"]
        return dict(shape(got))

    ours, theirs = answer(sim.url), answer(moto_url)
    assert ours
    different = {
        p: (ours[p], theirs[p]) for p in ours.keys() & theirs.keys() if ours[p] != theirs[p]
    }
    assert not different
    missing = [f"{action}{p}" for p in theirs.keys() - ours.keys()]
    assert not [path for path in missing if not left_out(path)]
