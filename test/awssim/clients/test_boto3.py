"""boto3 takes every answer of every operation, with pages and errors."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError
from network import build, tear_down
from simulator import Sim

Make = Callable[..., Any]
TAG = {"Key": "owner", "Value": "me"}


def tags(resource: str) -> list[dict[str, Any]]:
    return [{"ResourceType": resource, "Tags": [TAG]}]


def reserve(ec2: Any, **more: Any) -> Any:
    request = {
        "InstanceType": "g6.12xlarge", "InstancePlatform": "Linux/UNIX", "InstanceCount": 1,
        "AvailabilityZone": "us-east-1b", "InstanceMatchCriteria": "targeted",
        "TagSpecifications": tags("capacity-reservation"),
    }  # fmt: skip
    return ec2.create_capacity_reservation(**(request | more))["CapacityReservation"]


def look(ec2: Any) -> None:
    ec2.describe_regions(AllRegions=True)
    ec2.describe_availability_zones()
    ec2.describe_instance_type_offerings(LocationType="availability-zone")
    ec2.describe_instance_type_offerings(LocationType="availability-zone-id")
    ec2.describe_spot_price_history(
        InstanceTypes=["g6.12xlarge"], StartTime=datetime.datetime.now()
    )
    ec2.get_spot_placement_scores(InstanceTypes=["g6.12xlarge"], TargetCapacity=2)
    ec2.get_spot_placement_scores(
        InstanceTypes=["g6.12xlarge"], TargetCapacity=2, SingleAvailabilityZone=True
    )
    for page in ec2.get_paginator("describe_instance_types").paginate(MaxResults=50):
        assert page["InstanceTypes"]


def use_capacity(ec2: Any) -> None:
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=30)
    kept = reserve(ec2, EndDate=end, EndDateType="limited")["CapacityReservationId"]
    ec2.modify_capacity_reservation(CapacityReservationId=kept, InstanceCount=2)
    ec2.describe_capacity_reservations(Filters=[{"Name": "tag:owner", "Values": ["me"]}])
    launched = ec2.run_instances(
        InstanceType="g6.12xlarge", ImageId="ami-0123456789abcdef0", MinCount=1, MaxCount=1,
        Placement={"AvailabilityZone": "us-east-1b"}, TagSpecifications=tags("instance"),
        CapacityReservationSpecification={
            "CapacityReservationTarget": {"CapacityReservationId": kept}
        },
    )  # fmt: skip
    ids = [i["InstanceId"] for i in launched["Instances"]]
    ec2.describe_instances(InstanceIds=ids)
    ec2.terminate_instances(InstanceIds=ids)
    ec2.create_tags(Resources=[kept], Tags=[{"Key": "run", "Value": "1"}])
    ec2.describe_tags(Filters=[{"Name": "resource-id", "Values": [kept]}])
    ec2.delete_tags(Resources=[kept], Tags=[{"Key": "run"}])
    ec2.cancel_capacity_reservation(CapacityReservationId=kept)
    block = ec2.describe_capacity_block_offerings(
        InstanceType="p5.48xlarge", InstanceCount=1, CapacityDurationHours=24
    )["CapacityBlockOfferings"][0]["CapacityBlockOfferingId"]
    ec2.purchase_capacity_block(
        CapacityBlockOfferingId=block, InstancePlatform="Linux/UNIX",
        TagSpecifications=tags("capacity-reservation"),
    )  # fmt: skip


def ask_others(client: Make) -> None:
    quotas = client("service-quotas")
    quota = {"ServiceCode": "ec2", "QuotaCode": "L-DB2E81BA"}
    quotas.get_service_quota(**quota)
    quotas.get_aws_default_service_quota(**quota)
    quotas.request_service_quota_increase(DesiredValue=768, **quota)
    quotas.list_requested_service_quota_change_history_by_quota(**quota)
    pages = quotas.get_paginator("list_service_quotas").paginate(
        ServiceCode="ec2", PaginationConfig={"PageSize": 4}
    )
    assert len(pages.build_full_result()["Quotas"]) == 20

    products = (
        client("pricing")
        .get_paginator("get_products")
        .paginate(
            ServiceCode="AmazonEC2",
            Filters=[{"Type": "TERM_MATCH", "Field": "instanceType", "Value": "g6.12xlarge"}],
            PaginationConfig={"PageSize": 20},
        )
    )
    assert len(products.build_full_result()["PriceList"]) > 20

    eks = client("eks")
    pages = eks.get_paginator("list_clusters").paginate(PaginationConfig={"PageSize": 2})
    assert pages.build_full_result()["clusters"] == ["one", "three", "two"]
    eks.describe_cluster(name="one")
    eks.get_waiter("cluster_active").wait(name="one")

    sts = client("sts")
    sts.get_caller_identity()
    sts.assume_role(RoleArn="arn:aws:iam::111122223333:role/Admin", RoleSessionName="test")


def test_every_operation(sim: Sim, client: Make) -> None:
    ec2 = client("ec2")
    look(ec2)
    use_capacity(ec2)
    tear_down(ec2, build(ec2, lambda minutes: sim.control("clock", {"advance": f"{minutes}m"})))
    ask_others(client)
    calls = [c for c in sim.control("calls") if c["outcome"] == "ok"]
    called = {(c["service"], c["action"]) for c in calls}
    can = {(s, a) for s, actions in sim.control("operations").items() for a in actions}
    assert called == can
    # Each of them asked IAM for something, of a service that IAM knows.
    assert all(c["checks"] for c in calls)


def test_nothing_is_left(sim: Sim, client: Make) -> None:
    ec2 = client("ec2")
    reservation = reserve(ec2)
    left = [e for e in sim.control("ledger") if "to" not in e and e["kind"] != "cluster"]
    assert [e["resource"] for e in left] == [reservation["CapacityReservationId"]]
    ec2.cancel_capacity_reservation(CapacityReservationId=reservation["CapacityReservationId"])
    assert all("to" in e for e in sim.control("ledger") if e["kind"] != "cluster")


NOBODY = {"aws_access_key_id": "AKIANOBODY", "aws_secret_access_key": "none"}
UNKNOWN = {"aws_access_key_id": "AKIAUNKNOWN", "aws_secret_access_key": "none"}
DENIED, NOT_KNOWN = "AccessDeniedException", "UnrecognizedClientException"
PRODUCTS = {"ServiceCode": "AmazonEC2"}
NO_QUOTA = {"ServiceCode": "ec2", "QuotaCode": "L-0"}
ERRORS: list[tuple[str, dict[str, str], str, dict[str, Any], str, int]] = [
    ("ec2", {}, "describe_vpcs", {"VpcIds": ["vpc-0"]}, "InvalidVpcID.NotFound", 400),
    ("ec2", NOBODY, "describe_vpcs", {}, "UnauthorizedOperation", 403),
    ("ec2", UNKNOWN, "describe_vpcs", {}, "AuthFailure", 401),
    ("ec2", {}, "describe_vpcs", {"DryRun": True}, "DryRunOperation", 412),
    ("sts", UNKNOWN, "get_caller_identity", {}, "InvalidClientTokenId", 403),
    ("eks", {}, "describe_cluster", {"name": "none"}, "ResourceNotFoundException", 404),
    ("eks", NOBODY, "list_clusters", {}, DENIED, 403),
    ("eks", UNKNOWN, "list_clusters", {}, NOT_KNOWN, 403),
    ("pricing", NOBODY, "get_products", PRODUCTS, DENIED, 400),
    ("service-quotas", UNKNOWN, "get_service_quota", NO_QUOTA, NOT_KNOWN, 400),
    ("service-quotas", {}, "get_service_quota", NO_QUOTA, "NoSuchResourceException", 400),
]


def test_errors(client: Make) -> None:
    for service, credentials, action, request, code, status in ERRORS:
        with pytest.raises(ClientError) as caught:
            getattr(client(service, **credentials), action)(**request)
        answer = caught.value.response
        assert answer["Error"]["Code"] == code
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == status
        assert answer["ResponseMetadata"]["RequestId"]


def test_conditions(sim: Sim, client: Make) -> None:
    ec2, eks = client("ec2"), client("eks")
    sim.control("conditions", {"limits": [{"rate": 0.001, "burst": 1}]})
    ec2.describe_vpcs()
    with pytest.raises(ClientError, match="RequestLimitExceeded") as caught:
        ec2.describe_vpcs()
    assert int(caught.value.response["ResponseMetadata"]["HTTPHeaders"]["retry-after"]) > 900
    eks.list_clusters()
    with pytest.raises(eks.exceptions.ClientError, match="TooManyRequestsException"):
        eks.list_clusters()
    sim.control("conditions", {"faults": [{"kind": "drop"}]})
    with pytest.raises(HTTPClientError):
        ec2.describe_vpcs()
    sim.control("conditions", {})
    ec2.describe_vpcs()
