"""The aws command line client does its work against the simulator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from awscli.clidriver import create_clidriver
from simulator import Sim

G6 = "--instance-type g6.12xlarge --instance-platform Linux/UNIX --availability-zone us-east-1b"


class AWS:
    """The client, in this process: to start one takes a second."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, command: str, status: int = 0) -> str:
        self.capsys.readouterr()
        got = create_clidriver().main(["--output", "json", *command.split()])
        out, err = self.capsys.readouterr()
        assert got == status, f"aws {command}: {err}"
        return out if status == 0 else err


@pytest.fixture
def aws(sim: Sim, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> AWS:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    return AWS(capsys)


def test_process(sim: Sim) -> None:
    """The program itself, found beside this Python, with all that sim says to export."""
    program = Path(sys.executable).with_name("aws")
    command = [sys.executable, str(program), "sts", "get-caller-identity", "--output", "text"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.split()[:2] == ["111122223333", "arn:aws:iam::111122223333:user/admin"]


def test_search(aws: AWS) -> None:
    """What a person asks who looks for GPUs, in many pages."""
    regions = json.loads(aws("ec2 describe-regions --query Regions[].RegionName"))
    assert len(regions) == 17
    types = json.loads(
        aws("ec2 describe-instance-types --page-size 20 --query InstanceTypes[].InstanceType")
    )
    assert "g6.12xlarge" in types and len(types) > 100
    offered = json.loads(
        aws(
            "ec2 describe-instance-type-offerings --location-type availability-zone"
            " --filters Name=instance-type,Values=g6.12xlarge --page-size 5"
        )
    )["InstanceTypeOfferings"]
    assert {o["Location"] for o in offered} >= {"us-east-1b", "us-east-1d"}
    limit = aws(
        "service-quotas get-service-quota --service-code ec2 --quota-code L-DB2E81BA"
        " --query Quota.Value"
    )
    assert float(limit) == 192
    scores = aws("ec2 get-spot-placement-scores --instance-types g6.12xlarge --target-capacity 2")
    assert max(s["Score"] for s in json.loads(scores)["SpotPlacementScores"]) <= 3
    prices = aws("ec2 describe-spot-price-history --instance-types g6.12xlarge --max-items 3")
    assert len(json.loads(prices)["SpotPriceHistory"]) == 3
    product = json.loads(
        aws(
            "pricing get-products --service-code AmazonEC2 --filters"
            " Type=TERM_MATCH,Field=instanceType,Value=g6.12xlarge"
            " Type=TERM_MATCH,Field=regionCode,Value=us-east-1"
            " Type=TERM_MATCH,Field=capacitystatus,Value=Used"
        )
    )["PriceList"]
    assert len(product) == 1 and "4.6016" in product[0]
    assert json.loads(aws("eks list-clusters"))["clusters"] == ["one", "three", "two"]
    assert json.loads(aws("eks describe-cluster --name one"))["cluster"]["status"] == "ACTIVE"


def test_life_of_a_reservation(aws: AWS, sim: Sim) -> None:
    made = json.loads(aws(f"ec2 create-capacity-reservation {G6} --instance-count 2"))
    identity = made["CapacityReservation"]["CapacityReservationId"]
    assert "InsufficientInstanceCapacity" in aws(
        f"ec2 create-capacity-reservation {G6} --instance-count 1", 255
    )
    assert "InstanceLimitExceeded" in aws(
        f"ec2 create-capacity-reservation {G6} --instance-count 20", 255
    )
    running = json.loads(
        aws(
            "ec2 run-instances --instance-type g6.12xlarge --image-id ami-12345678 --count 2"
            " --placement AvailabilityZone=us-east-1b --capacity-reservation-specification"
            f" CapacityReservationTarget={{CapacityReservationId={identity}}}"
        )
    )
    ids = " ".join(i["InstanceId"] for i in running["Instances"])
    sim.control("clock", {"advance": "1m"})
    aws(f"ec2 wait instance-running --instance-ids {ids}")
    aws(f"ec2 terminate-instances --instance-ids {ids}")
    sim.control("clock", {"advance": "1m"})
    aws(f"ec2 wait instance-terminated --instance-ids {ids}")
    aws(f"ec2 cancel-capacity-reservation --capacity-reservation-id {identity}")
    assert all("to" in e for e in sim.control("ledger") if e["kind"] != "cluster")


def test_errors(aws: AWS, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "(DryRunOperation)" in aws("ec2 describe-vpcs --dry-run", 255)
    assert "(InvalidVpcID.NotFound)" in aws("ec2 describe-vpcs --vpc-ids vpc-1", 255)
    assert "(ResourceNotFoundException)" in aws("eks describe-cluster --name none", 255)
    assert "(AuthFailure)" in aws("ec2 describe-vpcs --region me-south-1", 255)
    assert "Connection was closed" in aws("ec2 describe-vpcs --region us-esat-1", 255)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert "(SignatureDoesNotMatch)" in aws("sts get-caller-identity", 255)
    assert "(InvalidSignatureException)" in aws("eks list-clusters", 255)
    assert "(AuthFailure)" in aws("ec2 describe-vpcs", 255)
