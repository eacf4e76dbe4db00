"""What a run says about itself while it trains: records, curves and warnings."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

import torch

from trainyard.config import TrainConfig
from trainyard.parallel import LateScalar, World
from trainyard.plan import ModelSize, Plan
from trainyard.report import exposed, failure, flops
from trainyard.report.exposed import Communication
from trainyard.report.guard import Guard
from trainyard.report.journal import Journal
from trainyard.report.late import LateStep, Speed
from trainyard.report.timeline import Timeline

if TYPE_CHECKING:
    from trainyard.data.datainfo import DataInfo
    from trainyard.data.reader import Reader

# What of a step's record is drawn as a curve.
CURVES = (
    "loss",
    "grad_norm",
    "learning_rate",
    "tokens_per_second",
    "mfu",
    "seconds",
    "data_seconds",
    "forward_backward_seconds",
    "optimizer_seconds",
    "exposed_communication_seconds",
    "memory_bytes",
)


class Metrics:
    """The methods are the events; all ranks call them, and rank 0 writes most."""

    def __init__(self, config: TrainConfig, world: World, stdout: TextIO | None = None) -> None:
        self.timeline = Timeline(world.device)
        self._config = config
        self._world = world
        self._leads = world.rank == 0
        self._journal = Journal(config, self._leads, stdout)
        self._emit = self._journal.write
        self._guard = Guard()
        self._first = 0
        self._on_gpu = world.device.type == "cuda"
        peak = flops.peak(torch.cuda.get_device_name(world.device)) if self._on_gpu else None
        tokens = config.batch_size * config.seq_len * config.accumulate * world.size
        self._speed = Speed(tokens, world.size, 0.0, peak)
        self._communication: list[Communication] = []
        self._unread: LateStep | None = None
        self._losses: list[float] = []
        self._elapsed = 0.0
        self._next_broken = 1

    def rank(self) -> None:
        """Once on every rank, before anything else."""
        world = self._world
        self._emit(
            "rank",
            every_rank=True,
            rank=world.rank,
            world_size=world.size,
            local_rank=world.local_rank,
            node_rank=world.node_rank,
            node=world.node,
            pid=os.getpid(),
            device=str(world.device),
            backend=world.backend,
        )

    def start(self, model: ModelSize, plan: Plan, data: DataInfo, first: int) -> None:
        """Once, when model and data are ready; first is the step of the checkpoint, or 0.

        All ranks meet here, and the first step is timed from here.
        """
        config, world = self._config, self._world
        self._first = first
        per_token = flops.flops_per_token(
            model.parameters, model.layers, model.hidden, config.seq_len
        )
        self._speed = replace(self._speed, flops_per_token=per_token)
        self._emit(
            "start",
            model=config.model,
            parameters=model.parameters,
            data=config.data,
            data_bytes=data.bytes,
            steps=config.steps,
            first_step=first + 1,
            batch_size=config.batch_size,
            accumulate=config.accumulate,
            seq_len=config.seq_len,
            world_size=world.size,
            device=world.device.type,
            backend=world.backend,
            parallel=plan.parallel,
            reason=plan.reason,
            bytes_across_nodes=plan.bytes_across_nodes,
            metrics_folder=str(self._journal.folder),
        )
        if first:
            self._emit("resumed", step=first)
        self._journal.open_trackers(self._warn_of_tracker)
        LateScalar(torch.zeros((), device=world.device)).read()
        failure.reached(first + 1)
        self.timeline.start()

    def profiled(self, step: int) -> contextlib.AbstractContextManager[None]:
        """Around a step: in one step in a while, measures the communication in it."""
        nth, steps = step - self._first, self._config.steps - self._first
        if self._leads and self._on_gpu and exposed.is_due(nth, steps):
            return exposed.measured(self._world.device, self._communication)
        return contextlib.nullcontext()

    def step(
        self, step: int, loss: LateScalar, grad_norm: LateScalar | None, learning_rate: float
    ) -> None:
        """After each optimizer step, counted from 1; loss is the mean over all ranks.

        The record is written when the next step is under way (see LateScalar),
        or by flush. Raises RunError where the numbers make no sense any more.
        """
        parts, memory = self.timeline.cut(), self._peak_memory()
        seen = self._communication.pop() if self._communication else None
        self.flush()
        self._unread = LateStep(step, loss, grad_norm, learning_rate, parts, memory, seen)
        failure.reached(step + 1)

    def flush(self) -> None:
        """Write the record of the last step, waiting for its numbers."""
        if self._unread is None:
            return
        late, self._unread = self._unread, None
        fields = late.record(self._speed)
        step, loss = late.step, fields["loss"]
        self._losses.append(loss)
        self._elapsed += fields["seconds"]
        elapsed = round(self._elapsed, 6)
        self._emit("step", **fields, steps=self._config.steps, elapsed=elapsed)
        self._journal.track(step, {name: fields[name] for name in CURVES})
        if warning := self._guard.see(step, loss, fields["grad_norm"]):
            self.warning(step, warning)

    def evaluation(self, step: int, loss: float) -> None:
        """After an evaluation; loss is in nats, the mean over all held-back tokens."""
        self.flush()
        perplexity = math.exp(min(loss, 700.0))  # more is no float
        self._emit("evaluation", step=step, loss=round(loss, 6), perplexity=round(perplexity, 4))
        self._journal.track(step, {"evaluation/loss": loss, "evaluation/perplexity": perplexity})
        self.timeline.start()  # its time is no step's

    def checkpoints(self, completed: Iterable[tuple[str, int, float]]) -> None:
        """After each step: checkpoints that are complete by now, with step and seconds.

        What one in the making takes of the time is the next step's, but not its data's.
        """
        self.timeline.mark("checkpoint")
        for path, step, seconds in completed:
            self._emit("checkpoint", path=path, step=step, seconds=round(seconds, 6))

    def exported(self, path: str) -> None:
        self._emit("exported", path=path)

    def warning(self, step: int, message: str) -> None:
        self._emit("warning", step=step, message=message)

    def broken_lines(self, step: int, reader: Reader) -> None:
        """After each step: tells of lines of the data that were skipped, whenever they doubled."""
        if reader.broken >= self._next_broken:
            self._next_broken = 2 * reader.broken
            count = f"{reader.broken} line{'s' if reader.broken > 1 else ''}"
            message = f"{count} of the data could not be read, and were skipped: "
            self._emit(
                "warning",
                every_rank=True,
                step=step,
                message=message + "; ".join(reader.broken_examples),
            )

    def evidence(self, fields: dict[str, Any]) -> None:
        """What each rank knows of its machine and network, for the verdict."""
        self._emit("evidence", every_rank=True, **fields)

    def done(self) -> None:
        """Once, at the end. Steps and seconds are those of this run alone."""
        self.flush()
        steps, seconds = len(self._losses), self._elapsed
        self._journal.close()
        self._emit(
            "done",
            steps=steps,
            first_loss=round(self._losses[0], 6) if steps else None,
            last_loss=round(self._losses[-1], 6) if steps else None,
            seconds=round(seconds, 6),
            tokens_per_second=round(steps * self._speed.tokens_per_step / seconds, 1)
            if steps
            else None,
        )

    def _peak_memory(self) -> int | None:
        """The most that was allocated on the GPU since the last call, in bytes."""
        if not self._on_gpu:
            return None
        peak = torch.cuda.max_memory_allocated(self._world.device)
        torch.cuda.reset_peak_memory_stats(self._world.device)
        return peak

    def _warn_of_tracker(self, message: str) -> None:
        self.warning(self._first + len(self._losses), message)
