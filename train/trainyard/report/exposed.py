"""How much of a step's communication the computation does not hide."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

# A step that is profiled takes longer, so only one in a while is.
FIRST = 10
EVERY = 100
SHORTEST_RUN = 12  # steps

# From and to, in nanoseconds.
Interval = tuple[int, int]


@dataclass
class Communication:
    """The time of a step in which collectives ran, and ran with nothing beside them."""

    total_seconds: float
    exposed_seconds: float


def is_due(nth: int, steps: int) -> bool:
    """Whether to profile the nth step of a run of so many, both counted from 1."""
    return steps >= SHORTEST_RUN and nth % EVERY == FIRST


@contextlib.contextmanager
def measured(device: torch.device, found: list[Communication]) -> Iterator[None]:
    """Profile what runs inside on this GPU; appends what it saw to found.

    One rank is enough, and better than all: the others wait while its profiler
    starts, and then none of its collectives waits for them.
    """
    # acc_events keeps a warning about cycles, of which there are none, unsaid.
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiler:
        yield
        torch.cuda.synchronize(device)
    # Not profiler.events(): it has them only as a tree, made for much longer
    # than the step takes.
    trace: Any = profiler.profiler
    kernels = [
        (event.name(), (event.start_ns(), event.end_ns()))
        for event in trace.kineto_results.events()
        if event.device_type() == DeviceType.CUDA and not event.is_user_annotation()
    ]
    found.append(communication(kernels))


def communication(kernels: Iterable[tuple[str, Interval]]) -> Communication:
    """What a device's kernels, by name and time, say of its communication.

    NCCL's kernels are called ncclDevKernel_AllGather_RING_LL and so on. Copies
    and fills of memory (Memcpy HtoD, Memset) are no computation.
    """
    collectives, computation = [], []
    for name, interval in kernels:
        if name.startswith("nccl"):
            collectives.append(interval)
        elif not name.startswith("Mem"):
            computation.append(interval)
    busy = merge(collectives)
    return Communication(
        total_seconds=length(busy) / 1e9,
        exposed_seconds=(length(busy) - length(overlap(busy, merge(computation)))) / 1e9,
    )


def merge(intervals: Iterable[Interval]) -> list[Interval]:
    """The same time as intervals that are in order and apart."""
    merged: list[Interval] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((begin, end))
    return merged


def overlap(these: list[Interval], those: list[Interval]) -> list[Interval]:
    """The time that is in both; each list as merge makes it."""
    common: list[Interval] = []
    i = j = 0
    while i < len(these) and j < len(those):
        begin, end = max(these[i][0], those[j][0]), min(these[i][1], those[j][1])
        if begin < end:
            common.append((begin, end))
        if these[i][1] < those[j][1]:
            i += 1
        else:
            j += 1
    return common


def length(intervals: Iterable[Interval]) -> int:
    return sum(end - begin for begin, end in intervals)
