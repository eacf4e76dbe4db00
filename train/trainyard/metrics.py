"""What a run says about itself: one record an event, for programs or for people.

With TRAINYARD_METRICS=json records are single lines on stdout that start with
`{"trainyard": 1, "event": "`; the number is the version of this contract.
Otherwise rank 0 prints a line for people and keeps the records in
`metrics.jsonl` in the checkpoint folder.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

import torch

from trainyard.config import TrainConfig
from trainyard.parallel import LateScalar, World

VERSION = 1
FILE = "metrics.jsonl"


class Metrics:
    """Writes records; the methods are the events. Rank 0 alone writes most."""

    def __init__(self, config: TrainConfig, world: World, stdout: TextIO | None = None) -> None:
        self._config = config
        self._world = world
        self._stdout = sys.stdout if stdout is None else stdout
        self._leads = world.rank == 0
        self._unread: tuple[int, LateScalar, float] | None = None
        self._losses: list[float] = []
        self._elapsed = 0.0
        self._last = LateScalar(torch.zeros((), device=world.device))
        self._file: TextIO | None = None
        if self._leads and not config.json_metrics:
            directory = Path(config.checkpoint_dir)
            directory.mkdir(parents=True, exist_ok=True)
            self._file = (directory / FILE).open("a", encoding="utf-8")

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

    def start(self, parameters: int, data_bytes: int) -> None:
        """Once, when model and data are ready.

        All ranks meet here, and the first step is timed from here.
        """
        config, world = self._config, self._world
        self._emit(
            "start",
            model=config.model,
            parameters=parameters,
            data=config.data,
            data_bytes=data_bytes,
            steps=config.steps,
            batch_size=config.batch_size,
            seq_len=config.seq_len,
            world_size=world.size,
            device=world.device.type,
            backend=world.backend,
            parallel="fsdp2",
        )
        self._last = LateScalar(torch.zeros((), device=world.device))

    def step(self, step: int, loss: LateScalar, learning_rate: float) -> None:
        """After each optimizer step, counted from 1; loss is the mean over ranks.

        The record is written when the next step is under way (see LateScalar),
        or by flush.
        """
        self.flush()
        self._unread = (step, loss, learning_rate)

    def flush(self) -> None:
        """Write the record of the last step, waiting for its loss."""
        if self._unread is None:
            return
        step, loss, learning_rate = self._unread
        self._unread = None
        self._losses.append(loss.read())
        seconds = loss.seconds_since(self._last)
        self._last = loss
        self._elapsed += seconds
        self._emit(
            "step",
            step=step,
            steps=self._config.steps,
            loss=round(self._losses[-1], 6),
            tokens_per_second=round(self._tokens_per_step / seconds, 1),
            seconds=round(seconds, 6),
            elapsed=round(self._elapsed, 6),
            world_size=self._world.size,
            learning_rate=learning_rate,
        )

    def checkpoint(self, path: Path, step: int, seconds: float) -> None:
        """After a checkpoint is complete."""
        self._emit("checkpoint", path=str(path), step=step, seconds=round(seconds, 6))

    def done(self) -> None:
        """Once, at the end. Steps and seconds are those of this run alone."""
        steps, seconds = len(self._losses), self._elapsed
        self._emit(
            "done",
            steps=steps,
            first_loss=round(self._losses[0], 6),
            last_loss=round(self._losses[-1], 6),
            seconds=round(seconds, 6),
            tokens_per_second=round(steps * self._tokens_per_step / seconds, 1),
        )

    @property
    def _tokens_per_step(self) -> int:
        return self._config.batch_size * self._config.seq_len * self._world.size

    def _emit(self, event: str, every_rank: bool = False, **fields: Any) -> None:
        if self._config.json_metrics:
            if self._leads or every_rank:
                self._write(json_line(event, fields))
        elif self._leads:
            self._write(text_line(event, fields))
            if self._file:
                self._file.write(json_line(event, fields) + "\n")
                self._file.flush()

    def _write(self, line: str) -> None:
        # Not print: Ray Train replaces it by one that goes through its logger,
        # which adds a prefix and a second copy in another file.
        self._stdout.write(line + "\n")
        self._stdout.flush()


def json_line(event: str, fields: dict[str, Any]) -> str:
    return json.dumps({"trainyard": VERSION, "event": event, **fields})


_TEXT = {
    "rank": "rank {rank} of {world_size} on {node}, {device}, {backend}",
    "start": "{model}: {parameters:,} parameters, {data_bytes:,} bytes of {data},"
    " {world_size} ranks",
    "step": "step {step:>6}/{steps}  loss {loss:7.4f}  {tokens_per_second:>11,.0f} tokens/s"
    "  {seconds:8.3f} s  lr {learning_rate:.2e}",
    "checkpoint": "saved {path} in {seconds:.1f} s",
    "done": "done: {steps} steps in {seconds:.1f} s, loss {first_loss:.4f} -> {last_loss:.4f},"
    " {tokens_per_second:,.0f} tokens/s",
}


def text_line(event: str, fields: dict[str, Any]) -> str:
    return _TEXT[event].format(**fields)
