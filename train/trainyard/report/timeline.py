"""Where the time of a step goes, measured where the work is done."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch

REST = "rest"

# A point in time: on a GPU when the work queued so far is done, else now.
Moment = torch.cuda.Event | float


class Timeline:
    """Marks the ends of the parts of a step, without waiting for any.

    On a GPU the marks are events in the stream: a part is as long as the device
    spends on it, so that `data` is the time for which the device has nothing to
    do because its next batch is late. A part may be marked several times in a
    step, as with gradient accumulation; its times add up.
    """

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._marks = [(REST, self._now())]

    def start(self) -> None:
        """Begin a step here: what was since the last mark belongs to none."""
        self._marks = [(REST, self._now())]

    def mark(self, name: str) -> None:
        """End a part of the step here."""
        self._marks.append((name, self._now()))

    def cut(self) -> Parts:
        """End the step here, and begin the next one."""
        self.mark(REST)
        parts = Parts(self._marks)
        self._marks = self._marks[-1:]
        return parts

    def _now(self) -> Moment:
        if not self._on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event


@dataclass(frozen=True)
class Parts:
    """The marks of one step."""

    _marks: list[tuple[str, Moment]] = field(repr=False)

    def seconds(self) -> dict[str, float]:
        """The length of each part, REST being what no mark names.

        Waits until the device has reached the end of the step.
        """
        last = self._marks[-1][1]
        if isinstance(last, torch.cuda.Event):
            last.synchronize()
        parts: dict[str, float] = {}
        for (_, before), (name, after) in zip(self._marks, self._marks[1:], strict=False):
            parts[name] = parts.get(name, 0.0) + _between(before, after)
        return parts


def _between(before: Moment, after: Moment) -> float:
    if isinstance(before, torch.cuda.Event) and isinstance(after, torch.cuda.Event):
        return float(before.elapsed_time(after)) / 1000
    assert isinstance(before, float) and isinstance(after, float)
    return after - before
