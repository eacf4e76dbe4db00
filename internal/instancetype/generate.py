"""Write types.csv: what AWS's DescribeInstanceTypes says of types with NVIDIA GPUs.

The answers of that call come with the PyPI package moto (Apache-2.0), in
moto/ec2/resources/instance_types.json.gz, which its maintainers fetch from AWS.
Only the columns that trainyard needs are kept, of types that the Ray Train
container runs on: x86-64, with whole GPUs of NVIDIA's.

    python -m pip download --no-deps -d /tmp moto
    python internal/instancetype/generate.py /tmp/moto-*.whl > internal/instancetype/types.csv

Two columns are not AWS's answer:

gpudirect  the AWS OFI NCCL plugin refuses to work on these types without
           GPUDirect RDMA (gdr_required in its platform-aws.c, version 1.20);
           elsewhere data goes through the host's memory, which is normal.
hugepages  MiB of 2 MiB pages for one pod. libfabric's EFA provider takes its
           buffers from huge pages, of which AWS's accelerated AMIs set 5128
           aside; its manifests for these types ask for 5120 MiB.
"""

import csv
import gzip
import json
import re
import sys
import zipfile

GPUDIRECT = re.compile(r"p4de?\.|p5(e|en)?\.48xlarge|p6-|g7e\.(12|24|48)xlarge")
HUGEPAGES = re.compile(r"p4de?\.|p5(e|en)?\.48xlarge|p6-")
COLUMNS = (
    "type",
    "gpus",
    "gpu",
    "gpu_mib",
    "efa",
    "gbps",
    "gpudirect",
    "vcpus",
    "memory_mib",
    "hugepages_mib",
)


def gbps(text: str) -> int:
    """Read "40 Gigabit", "Up to 10 Gigabit" and "4x 100 Gigabit"."""
    times, rate = re.fullmatch(r"(?:Up to )?(?:(\d+)x )?(\d+) Gigabit", text).groups()
    return int(times or 1) * int(rate)


def row(kind: dict) -> tuple | None:
    name, gpus = kind["InstanceType"], kind.get("GpuInfo", {}).get("Gpus", [])
    if len(gpus) != 1 or gpus[0]["Manufacturer"] != "NVIDIA" or gpus[0]["Count"] < 1:
        return None
    if "x86_64" not in kind["ProcessorInfo"]["SupportedArchitectures"]:
        return None
    network = kind["NetworkInfo"]
    return (
        name,
        gpus[0]["Count"],
        gpus[0]["Name"],
        gpus[0]["MemoryInfo"]["SizeInMiB"],
        network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        gbps(network["NetworkPerformance"]),
        str(bool(GPUDIRECT.match(name))).lower(),
        kind["VCpuInfo"]["DefaultVCpus"],
        kind["MemoryInfo"]["SizeInMiB"],
        5120 if HUGEPAGES.match(name) else 0,
    )


def by_size(row: tuple) -> tuple:
    return row[0].split(".")[0], row[7], row[8], row[0]


def main(wheel: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        types = json.loads(
            gzip.decompress(archive.read("moto/ec2/resources/instance_types.json.gz"))
        )
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    out.writerows(sorted((r for r in map(row, types.values()) if r), key=by_size))


if __name__ == "__main__":
    main(sys.argv[1])
