from __future__ import annotations

import math
import random

import pytest

from trainyard.report.failure import RunError
from trainyard.report.guard import ENOUGH, Guard


def falling(steps: int, noise: float = 0.05) -> list[float]:
    """A loss curve as of a real run: from 5.5 down to 2, with noise."""
    shake = random.Random(1)
    return [2 + 3.5 * math.exp(-step / 40) + shake.gauss(0, noise) for step in range(steps)]


def warnings(guard: Guard, losses: list[float], first: int = 1) -> list[str]:
    seen = [guard.see(step, loss, 1.0) for step, loss in enumerate(losses, start=first)]
    return [warning for warning in seen if warning]


def test_a_healthy_curve_is_left_alone() -> None:
    assert warnings(Guard(), falling(2000)) == []
    assert warnings(Guard(), falling(2000, noise=0.2)) == []
    assert warnings(Guard(), [0.0] * 50) == []


def test_a_spike_is_told_once_until_it_is_over() -> None:
    guard = Guard()
    warnings(guard, falling(200))
    (warning,) = warnings(guard, [6.0, 7.0, 6.5], first=201)
    assert warning.startswith("the loss jumped to 6.0000 at step 201: it was 2.")
    assert warning.endswith(" over the last 100 steps")
    assert warnings(guard, [2.0, 2.0, 6.0], first=204) != []


def test_nothing_is_a_spike_in_the_first_steps() -> None:
    guard = Guard()
    assert warnings(guard, [1.0] * (ENOUGH - 1) + [50.0]) == []
    assert warnings(guard, [50.0], first=ENOUGH + 1) != []


def test_a_loss_that_only_rises_is_told_once() -> None:
    (warning,) = warnings(Guard(), [5.5 + step for step in range(100)])
    assert warning.startswith("the loss is 15.0000 by step 21 and began at 5.5000: try a lower")


@pytest.mark.parametrize(
    ("loss", "norm", "what"),
    [
        (math.nan, 1.0, "the loss is nan"),
        (math.inf, None, "the loss is inf"),
        (2.0, math.nan, "the norm of the gradients is nan"),
    ],
)
def test_a_step_that_is_not_finite(loss: float, norm: float | None, what: str) -> None:
    guard = Guard()
    assert guard.see(7, 2.5, 1.0) is None
    expected = f"at step 8 {what} (the last good loss was 2.5000 at step 7): the update is skipped"
    assert guard.see(8, loss, norm) == expected


def test_five_in_a_row_end_the_run() -> None:
    guard = Guard()
    guard.see(1, 2.5)
    for step in (2, 3, 4, 5):
        assert guard.see(step, math.nan)
    assert guard.see(6, 2.4) is None  # a good step begins the count anew
    for step in (7, 8, 9, 10):
        assert guard.see(step, math.nan)
    with pytest.raises(RunError) as raised:
        guard.see(11, math.nan)
    assert raised.value.kind == "numbers"
    assert str(raised.value).startswith(
        "at step 11 the loss is nan, and nothing was finite since step 7"
        " (the last good loss was 2.4000 at step 6); try a lower --learning-rate"
    )


def test_a_run_that_never_was_finite() -> None:
    assert "no step was good before" in (Guard().see(1, math.nan) or "")
