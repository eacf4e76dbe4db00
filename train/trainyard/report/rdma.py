"""The RDMA network cards of a machine, as Linux shows them below /sys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Bytes sent and received, by device and port; a text says why they are not known.
Reading = Mapping[tuple[str, int], tuple[int, int] | str]

# EFA counts bytes, InfiniBand words of four. Sources: AWS's "EFA driver
# metrics" (tx_bytes, rx_bytes) and the InfiniBand specification's PortCounters
# (PortXmitData, PortRcvData).
_FAMILIES = (
    ("hw_counters/tx_bytes", "hw_counters/rx_bytes", 1),
    ("counters/port_xmit_data", "counters/port_rcv_data", 4),
)


def cards(sysfs: Path) -> list[dict[str, Any]]:
    """Each card with its PCI address and NUMA node; none where there are none."""
    return [
        {
            "device": device.name,
            "pci": (device / "device").resolve().name if (device / "device").exists() else None,
            "numa_node": read_number(device / "device/numa_node"),
        }
        for device in _devices(sysfs)
    ]


def read(sysfs: Path) -> Reading:
    """What each port has counted since its driver was loaded."""
    return {
        (device.name, int(port.name)): _port(port)
        for device in _devices(sysfs)
        for port in _children(device / "ports")
        if port.name.isdecimal()
    }


def growth(before: Reading, after: Reading) -> list[dict[str, Any]]:
    """The two readings of each port side by side, or why one is missing."""
    rows = []
    for device, port in sorted({*before, *after}):
        row: dict[str, Any] = {"device": device, "port": port}
        first = before.get((device, port), "it was not there before the job")
        last = after.get((device, port), "it was gone after the job")
        if isinstance(first, str) or isinstance(last, str):
            row["problem"] = first if isinstance(first, str) else last
        else:
            row["sent_before"], row["received_before"] = first
            row["sent_after"], row["received_after"] = last
        rows.append(row)
    return rows


def _port(folder: Path) -> tuple[int, int] | str:
    for sent, received, unit in _FAMILIES:
        counts = read_number(folder / sent), read_number(folder / received)
        if counts[0] is not None and counts[1] is not None:
            return counts[0] * unit, counts[1] * unit
    return "its counters cannot be read"


def _devices(sysfs: Path) -> list[Path]:
    return _children(sysfs / "class/infiniband")


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def read_text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except (OSError, ValueError):
        return None


def read_number(path: Path) -> int | None:
    """None also for -1, by which Linux says that a device has no NUMA node."""
    text = read_text(path)
    return int(text) if text is not None and text.isdecimal() else None
