from __future__ import annotations

import json
from typing import Any

from trainyard import metrics


def test_json_line() -> None:
    line = metrics.json_line("step", {"step": 1, "loss": 5.5})
    assert line == '{"trainyard": 1, "event": "step", "step": 1, "loss": 5.5}'
    assert "\n" not in metrics.json_line("start", {"data": "a\nb"})


def test_text_lines_are_aligned() -> None:
    lines = [
        metrics.text_line("step", step(number, rate)) for number, rate in [(1, 99), (200, 1e6)]
    ]
    assert lines == [
        "step      1/200  loss  5.5000           99 tokens/s     0.125 s  lr 3.00e-03",
        "step    200/200  loss  5.5000    1,000,000 tokens/s     0.125 s  lr 3.00e-03",
    ]


def step(number: int, tokens_per_second: float) -> dict[str, Any]:
    return {
        "step": number,
        "steps": 200,
        "loss": 5.5,
        "tokens_per_second": tokens_per_second,
        "seconds": 0.125,
        "learning_rate": 3e-3,
    }


def records(output: str) -> list[dict[str, Any]]:
    """The records in what a rank wrote; fails on a line that is none."""
    lines = output.splitlines()
    assert all(line.startswith('{"trainyard": 1, "event": "') for line in lines)
    return [json.loads(line) for line in lines]
