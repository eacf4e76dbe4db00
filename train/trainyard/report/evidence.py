"""What a rank knows of its software, machine and network, for the verdict on the network.

Everything is read from where the system shows it: nothing is run, and what
cannot be read is left out or null.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from trainyard.checkpoint import storage
from trainyard.config import TrainConfig
from trainyard.parallel import World
from trainyard.report import rdma
from trainyard.report.metrics import Metrics
from trainyard.report.node import environment

SYSFS = Path("/sys")
FOLDER = "evidence"


class Evidence:
    """Made before the training: the counters of the network cards are read then and at the end."""

    def __init__(self, config: TrainConfig, world: World, sysfs: Path = SYSFS) -> None:
        self._config = config
        self._world = world
        self._sysfs = sysfs
        self._before = rdma.read(sysfs)

    def write(self, metrics: Metrics, bytes_across_nodes: int, steps: int = 0) -> None:
        """Keep it in the checkpoint folder and tell of it; each call replaces the one before.

        bytes_across_nodes is what the collectives of one step send from this
        node to others, as the plan has it; steps are those done by this process.
        """
        fields = self.collect(bytes_across_nodes, steps)
        metrics.evidence(fields)
        folder = storage.join(self._config.checkpoint_dir, FOLDER)
        file = storage.join(folder, f"rank-{self._world.rank:05d}.json")
        try:
            storage.make_dir(folder)
            storage.write_bytes(file, (json.dumps(fields, indent=2) + "\n").encode())
        except OSError as error:  # no reason to end a run
            metrics.warning(steps, str(storage.problem("keeping the evidence in", file, error)))

    def collect(
        self, bytes_across_nodes: int, steps: int, environ: Mapping[str, str] = os.environ
    ) -> dict[str, Any]:
        world = self._world
        after = rdma.read(self._sysfs)
        return {
            "rank": world.rank,
            "world_size": world.size,
            "node": world.node,
            "pid": os.getpid(),
            "host": platform.node(),
            "versions": versions(self._sysfs),
            "libraries": libraries(),
            "environment": environment(environ),
            "nccl_log": nccl_log(environ),
            "gpu": gpu(world.device, self._sysfs),
            "nics": rdma.cards(self._sysfs),
            "counters": [] if steps == 0 else rdma.growth(self._before, after),
            "steps": steps,
            # This rank's share, so that those of a node add up.
            "bytes_across_nodes": bytes_across_nodes * steps // world.local_size,
        }


def versions(sysfs: Path = SYSFS) -> dict[str, str | None]:
    """Of what decides how ranks talk; None for what is not there."""
    found: dict[str, str | None] = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }
    for name in ("ray", "transformers", "nvidia-nccl-cu13", "nvidia-nccl-cu12"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    if torch.cuda.is_available():
        nccl = torch.cuda.nccl.version()  # type: ignore[no-untyped-call]
        found["nccl"] = ".".join(map(str, nccl))
    found["driver"] = rdma.read_text(sysfs / "module/nvidia/version")
    found["efa_driver"] = rdma.read_text(sysfs / "module/efa/version")
    return found


def libraries(maps: Path = Path("/proc/self/maps")) -> list[str]:
    """The files of NCCL, its plug-ins and libfabric that this process has loaded.

    Links are followed: the names of the files hold the versions.
    """
    try:
        text = maps.read_text()
    except OSError:
        return []
    paths = set(re.findall(r"/\S*/lib(?:nccl|fabric)[^/\s]*\.so[^/\s]*", text))
    return sorted(os.path.realpath(path) for path in paths)


def nccl_log(environ: Mapping[str, str] = os.environ) -> str | None:
    """Where NCCL writes what it does: a file, stdout, or None where it says nothing."""
    if environ.get("NCCL_DEBUG", "").upper() not in ("INFO", "TRACE"):
        return None
    pattern = environ.get("NCCL_DEBUG_FILE")
    if not pattern:
        return "stdout"
    values = {"%h": platform.node(), "%p": str(os.getpid()), "%%": "%"}
    return re.sub("%[hp%]", lambda match: values[match[0]], pattern)


def log_to(folder: Path) -> None:
    """Let NCCL write its log into a folder, unless the user has said where or how much.

    Before the process group is made, and only where no launcher keeps stdout.
    """
    if any(name in os.environ for name in ("NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS")):
        return
    # NCCL prints to stdout, without a word, where the folder is missing.
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["NCCL_DEBUG"] = "INFO"
    # The default and NET, which says which network carries what.
    os.environ["NCCL_DEBUG_SUBSYS"] = "INIT,BOOTSTRAP,ENV,NET"
    os.environ["NCCL_DEBUG_FILE"] = str(folder.absolute() / "nccl-%h-%p.log")


def gpu(device: torch.device, sysfs: Path = SYSFS) -> dict[str, Any] | None:
    """Which GPU this rank has, and where it sits in the machine."""
    if device.type != "cuda":
        return None
    has: Any = torch.cuda.get_device_properties(device)
    bus = f"{has.pci_domain_id:04x}:{has.pci_bus_id:02x}:{has.pci_device_id:02x}.0"
    return {
        "name": has.name,
        "uuid": str(has.uuid),
        "pci": bus,
        "numa_node": rdma.read_number(sysfs / "bus/pci/devices" / bus / "numa_node"),
        "memory_bytes": has.total_memory,
    }
