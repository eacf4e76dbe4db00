"""What a machine shows of its network and GPUs to any process on it, without PyTorch."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainyard.report import rdma

_ALLOWED = re.compile(r"(NCCL_|FI_|OFI_|CUDA_|RAY_)\w+|LD_LIBRARY_PATH")
# Ray keeps a job's whole environment in some of its variables.
_SECRET = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH|(^|_)KEYS?(_|$)|RUNTIME_ENV|JOB_CONFIG|JSON"
)
_LOGIN = re.compile(r"//[^/@\s]+@")

FI_INFO_SECONDS = 30
# Where AWS's installer puts it; images do not always have that on PATH.
_EFA_PROGRAMS = "/opt/amazon/efa/bin"


def survey(root: Path = Path("/"), environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Devices, drivers, counters and variables of this machine; null for what it has not."""
    sysfs = root / "sys"
    readings = rdma.read(sysfs)
    return {
        "host": platform.node(),
        "python": platform.python_version(),
        "driver": rdma.read_text(sysfs / "module/nvidia/version"),
        "efa_driver": rdma.read_text(sysfs / "module/efa/version"),
        "nics": rdma.cards(sysfs),
        "counters": [
            {"device": device, "port": port, "problem": read}
            if isinstance(read, str)
            else {"device": device, "port": port, "sent": read[0], "received": read[1]}
            for (device, port), read in readings.items()
        ],
        "devices": devices(root / "dev"),
        "fi_info": fi_info(environ),
        "environment": environment(environ),
    }


def devices(dev: Path) -> list[str]:
    """The GPUs, RDMA cards and GDRCopy's driver that this container may open."""
    patterns = ("nvidia[0-9]*", "infiniband/uverbs*", "gdrdrv")
    return sorted(str(path) for pattern in patterns for path in dev.glob(pattern))


def fi_info(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """What libfabric says of EFA: the domains that it can use, or why there are none."""
    path = os.pathsep.join([environ.get("PATH", ""), _EFA_PROGRAMS])
    program = shutil.which("fi_info", path=path)
    if program is None:
        return {"problem": "fi_info is not installed"}
    try:
        found = subprocess.run(
            [program, "-p", "efa"],
            capture_output=True, text=True, check=False, timeout=FI_INFO_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"problem": f"fi_info: {error}"}
    if found.returncode:
        lines = (found.stderr + found.stdout).strip().splitlines()
        return {"problem": lines[-1] if lines else f"fi_info ended with {found.returncode}"}
    return {"domains": sorted(set(re.findall(r"^\s*domain: (\S+)", found.stdout, re.MULTILINE)))}


def environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that steer NCCL, libfabric, CUDA and Ray, and no secret among them."""
    return {
        name: _LOGIN.sub("//...@", value)
        for name, value in sorted(environ.items())
        if _ALLOWED.fullmatch(name) and not _SECRET.search(name)
    }
