"""Write facts.json.gz: what AWS says of its regions, zones, instance types and prices.

Only what users of trainyard can meet is kept: types with accelerators, and the
common ones that system nodes run on. The sources:

moto       (PyPI, Apache-2.0) carries AWS's own answers to DescribeInstanceTypes
           and DescribeInstanceTypeOfferings, and one account's names of zones.
botocore   (PyPI, Apache-2.0) lists regions with their names.
karpenter  (github.com/aws/karpenter-provider-aws, Apache-2.0) carries AWS's
           price list of us-east-1: pkg/providers/pricing/zz_generated.pricing_aws.go.

Prices of other regions are not AWS's: they are those of us-east-1 times a
factor, MARKUP, which only makes regions differ about as they do. Types that AWS
sells as Capacity Blocks only have none.

    python test/awssim/facts/generate.py zz_generated.pricing_aws.go
"""

import gzip
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import botocore
import moto
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend

FAMILIES = re.compile(
    r"(g\d\w*|gr\d\w*|p\d\w*(-b\d+)?|trn\d\w*|inf\d|t3a?|m5|m6i|m7i(-flex)?|c5|c6i|c7i)\."
)
# Every account has these 17 regions; all others must be enabled first.
DEFAULT_REGIONS = re.compile(
    r"us-(east|west)-[12]|ca-central-1|sa-east-1|eu-west-[123]|eu-central-1|eu-north-1"
    r"|ap-northeast-[123]|ap-southeast-[12]|ap-south-1"
)
MARKUP = {
    "us-east-1": 1.0, "us-east-2": 1.0, "us-west-2": 1.0, "us-west-1": 1.2, "ca-central-1": 1.11,
    "sa-east-1": 1.6, "eu-west-1": 1.1, "eu-west-2": 1.17, "eu-west-3": 1.17, "eu-central-1": 1.25,
    "eu-north-1": 1.06, "ap-northeast-1": 1.38, "ap-northeast-2": 1.23, "ap-northeast-3": 1.38,
    "ap-southeast-1": 1.25, "ap-southeast-2": 1.3, "ap-south-1": 1.05,
}  # fmt: skip
OTHER_MARKUP = 1.2
# Where an answer's name on the wire is not the model's with a small letter.
WIRE_NAMES = {
    "EbsCards": "EbsCardSet",
    "InterfaceTypes": "InterfaceTypeSet",
    "Workloads": "WorkloadSet",
}
# The one list of EC2 whose elements are called "member", not "item".
MEMBER_LIST = "Accelerators"
ZONE_ID = re.compile(r"[a-z]+\d-az\d")

Facts = dict[str, Any]


def unpack(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def on_wire(value: Any) -> Any:
    if isinstance(value, dict):
        if len(value.get(MEMBER_LIST, [])) == 1:
            value = value | {MEMBER_LIST: {"member": value[MEMBER_LIST][0]}}
        return {WIRE_NAMES.get(k, k): on_wire(v) for k, v in value.items()}
    if isinstance(value, list):
        return [on_wire(v) for v in value]
    return value


def offerings(folder: Path) -> dict[str, list[str]]:
    """Type to the ids of zones that offer it, of all regions."""
    zones: dict[str, set[str]] = defaultdict(set)
    for path in (folder / "availability-zone-id").glob("*.json.gz"):
        for offer in unpack(path):
            if FAMILIES.match(offer["InstanceType"]) and ZONE_ID.fullmatch(offer["Location"]):
                zones[offer["InstanceType"]].add(offer["Location"])
    return {kind: sorted(ids) for kind, ids in zones.items()}


def regions(offered: set[str]) -> Facts:
    endpoints = json.loads((Path(botocore.__file__).parent / "data/endpoints.json").read_text())
    found = {}
    for partition in endpoints["partitions"]:
        if partition["partition"] not in ("aws", "aws-cn", "aws-us-gov"):
            continue
        for name, region in partition["regions"].items():
            zones = RegionsAndZonesBackend.zones.get(name, [])
            found[name] = {
                "description": region["description"],
                "partition": partition["partition"],
                "optIn": partition["partition"] == "aws" and not DEFAULT_REGIONS.fullmatch(name),
                "zones": {z.name: z.zone_id for z in zones},
                "markup": MARKUP.get(name, OTHER_MARKUP),
            }
    known = {zone for region in found.values() for zone in region["zones"].values()}
    if missing := offered - known:
        sys.stderr.write(f"zones without a name, left out: {sorted(missing)}\n")
    return found


def prices(source: Path) -> dict[str, float]:
    listed = re.findall(r'"([\w.-]+)": ([\d.]+)', source.read_text())
    return {kind: float(usd) for kind, usd in listed}


def main(price_list: str) -> None:
    ec2 = Path(moto.__file__).parent / "ec2/resources"
    offered = offerings(ec2 / "instance_type_offerings")
    usd = prices(Path(price_list))
    types = {
        name: {"describe": on_wire(kind), "zones": offered.get(name, []), "usd": usd.get(name, 0)}
        for name, kind in sorted(unpack(ec2 / "instance_types.json.gz").items())
        if FAMILIES.match(name)
    }
    unpriced = [name for name, kind in types.items() if not kind["usd"]]
    sys.stderr.write(f"{len(types)} types; without a price: {unpriced}\n")
    facts = {"regions": regions({z for ids in offered.values() for z in ids}), "types": types}
    text = json.dumps(facts, separators=(",", ":"), sort_keys=True)
    out = Path(__file__).with_name("facts.json.gz")
    out.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])
