"""Where the events of a run are written: stdout, a file, and curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from trainyard.checkpoint import storage
from trainyard.config import TrainConfig
from trainyard.report import records
from trainyard.report.trackers import Trackers

FILE = "metrics.jsonl"


class Journal:
    """With TRAINYARD_METRICS=json, records on stdout, which trainyard keeps.

    Otherwise lines for people on stdout, and records in FILE. Curves either
    way. Rank 0 writes all but what every rank says of itself.
    """

    def __init__(self, config: TrainConfig, leads: bool, stdout: TextIO | None = None) -> None:
        self.folder = local_folder(config)
        self._config = config
        self._leads = leads
        self._stdout = stdout
        self._trackers: Trackers | None = None
        self._file: TextIO | None = None
        if leads and not config.json_metrics:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._file = (self.folder / FILE).open("a", encoding="utf-8")

    def write(self, event: str, every_rank: bool = False, **fields: Any) -> None:
        if self._config.json_metrics:
            if self._leads or every_rank:
                records.write_line(records.json_line(event, fields), self._stdout)
        elif self._leads:
            if text := records.text_line(event, fields):
                records.write_line(text, self._stdout)
            if self._file:
                records.write_line(records.json_line(event, fields), self._file)

    def open_trackers(self, warn: Callable[[str], None]) -> None:
        if self._leads:
            folder = self.folder / "tensorboard"
            self._trackers = Trackers(folder, self._config.to_dict(), warn)

    def track(self, step: int, numbers: Mapping[str, float | None]) -> None:
        """Draw numbers as points of curves; what is not known has no point."""
        if self._trackers:
            known = {k: v for k, v in numbers.items() if v is not None and math.isfinite(v)}
            self._trackers.log(step, known)

    def close(self) -> None:
        if self._trackers:
            self._trackers.close()
        if self._file:
            self._file.close()
            self._file = None


def local_folder(config: TrainConfig) -> Path:
    """Where files are written that grow line by line: the checkpoint folder or,
    where that is in a bucket, a folder here that is called like it.
    """
    if storage.is_local(config.checkpoint_dir):
        return Path(storage.filesystem(config.checkpoint_dir)[1])
    name = config.checkpoint_dir.rstrip("/").rpartition("/")[2]
    return Path.cwd() / "trainyard-metrics" / name
