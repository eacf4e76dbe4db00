"""The numbers of a step that are still on their way from the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainyard.parallel import LateScalar
from trainyard.report import flops
from trainyard.report.exposed import Communication
from trainyard.report.timeline import Parts


@dataclass(frozen=True)
class Speed:
    """What turns the seconds of a step into tokens/s and MFU."""

    tokens_per_step: int  # of all ranks
    ranks: int
    flops_per_token: float
    peak: float | None  # of one device, in operations a second


@dataclass(frozen=True)
class LateStep:
    """A step whose work is queued. Reading waits for it, and so comes one step later."""

    step: int
    loss: LateScalar  # the mean over all ranks
    grad_norm: LateScalar | None
    learning_rate: float
    parts: Parts
    memory_bytes: int | None  # the most that was allocated on the GPU during the step
    communication: Communication | None  # where the step was profiled

    def record(self, speed: Speed) -> dict[str, Any]:
        """The fields of a step's record; None is what was not measured."""
        parts = self.parts.seconds()
        seconds = sum(parts.values())
        tokens_per_second = speed.tokens_per_step / seconds
        mfu = flops.mfu(tokens_per_second, speed.flops_per_token, speed.peak, speed.ranks)
        seen = self.communication
        return {
            "step": self.step,
            "loss": round(self.loss.read(), 6),
            "tokens_per_second": round(tokens_per_second, 1),
            "seconds": round(seconds, 6),
            "world_size": speed.ranks,
            "learning_rate": self.learning_rate,
            "grad_norm": round(self.grad_norm.read(), 6) if self.grad_norm else None,
            # The steps of earlier runs count as if they had been as large.
            "tokens": self.step * speed.tokens_per_step,
            "mfu": None if mfu is None else round(mfu, 4),
            "data_seconds": round(parts.get("data", 0.0), 6),
            "forward_backward_seconds": round(parts.get("forward_backward", 0.0), 6),
            "optimizer_seconds": round(parts.get("optimizer", 0.0), 6),
            "communication_seconds": seen and round(seen.total_seconds, 6),
            "exposed_communication_seconds": seen and round(seen.exposed_seconds, 6),
            "memory_bytes": self.memory_bytes,
        }
