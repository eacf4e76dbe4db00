from __future__ import annotations

import random

import pytest

from trainyard.report import exposed
from trainyard.report.exposed import Interval


def test_which_steps_are_profiled() -> None:
    due = [step for step in range(1, 251) if exposed.is_due(step, 250)]
    assert due == [10, 110, 210]
    assert not any(exposed.is_due(step, 11) for step in range(1, 12))


def test_communication_beside_computation_is_hidden() -> None:
    found = exposed.communication(
        [
            ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", (0, 100)),
            ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", (90, 200)),  # overlaps the other
            ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT", (50, 80)),
            ("void at::native::vectorized_elementwise_kernel", (70, 120)),
            ("Memcpy DtoD (Device -> Device)", (120, 200)),  # no computation
            ("triton_poi_fused_add", (500, 600)),  # after it
        ]
    )
    assert found.total_seconds == pytest.approx(200e-9)
    assert found.exposed_seconds == pytest.approx(130e-9)


def test_nothing_ran() -> None:
    found = exposed.communication([])
    assert (found.total_seconds, found.exposed_seconds) == (0, 0)


def test_intervals_against_counting() -> None:
    chance = random.Random(3)

    def some() -> list[Interval]:
        starts = [chance.randrange(60) for _ in range(chance.randrange(8))]
        return [(start, start + chance.randrange(15)) for start in starts]

    def points(intervals: list[Interval]) -> set[int]:
        return {point for begin, end in intervals for point in range(begin, end)}

    for _ in range(300):
        these, those = some(), some()
        common = exposed.overlap(exposed.merge(these), exposed.merge(those))
        assert points(exposed.merge(these)) == points(these)
        assert exposed.length(exposed.merge(these)) == len(points(these))
        assert points(common) == points(these) & points(those)
        assert exposed.length(common) == len(points(common))
