"""What a checkpoint says about itself, read without PyTorch.

A checkpoint is a folder `step-000200` that holds one `manifest.json`, written
last, besides the shards. A folder without it, or still called `.partial`, is
what a killed save left behind, and is never taken for a checkpoint.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainyard.config import ConfigError, TrainConfig

FILE = "manifest.json"
PARTIAL = ".partial"


@dataclass(frozen=True)
class Manifest:
    """The state of a run apart from its tensors."""

    step: int  # optimizer steps done
    position: int  # windows of the data consumed by all ranks together
    data_bytes: int
    config: dict[str, Any]

    def write(self, folder: Path) -> None:
        text = json.dumps(dataclasses.asdict(self), indent=2) + "\n"
        (folder / FILE).write_text(text, encoding="utf-8")


def folder_name(step: int) -> str:
    return f"step-{step:06d}"


def is_complete(folder: Path) -> bool:
    return folder.suffix != PARTIAL and (folder / FILE).is_file()


def find(path: Path) -> Path:
    """The checkpoint at path, or else the newest one in it.

    Raises ConfigError if there is none.
    """
    if is_complete(path):
        return path
    found = [folder for folder in path.glob("step-*") if is_complete(folder)]
    if not found:
        raise ConfigError(f"no complete checkpoint in {str(path)!r}")
    return max(found, key=lambda folder: folder.name)


def read(folder: Path) -> Manifest:
    """Raises ConfigError if the folder is no checkpoint or its manifest is damaged."""
    if not is_complete(folder):
        raise ConfigError(f"no complete checkpoint in {str(folder)!r}")
    try:
        return Manifest(**json.loads((folder / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"reading {str(folder / FILE)!r}: {error}") from error


# A run goes on from a checkpoint only where these agree: the weights would not
# fit, or the position would mean other data.
_IDENTITY = ("model", "data", "seq_len", "seed")


def check(manifest: Manifest, config: TrainConfig, data_bytes: int) -> None:
    """Raises ConfigError, naming each difference, if config cannot go on from it."""
    now = {**config.to_dict(), "data_bytes": data_bytes}
    saved = {**manifest.config, "data_bytes": manifest.data_bytes}
    differences = [
        f"{name} was {saved.get(name)!r} and is {now[name]!r}"
        for name in (*_IDENTITY, "data_bytes")
        if saved.get(name) != now[name]
    ]
    if differences:
        raise ConfigError("the checkpoint is of another run: " + ", ".join(differences))
    if manifest.step >= config.steps:
        raise ConfigError(
            f"the checkpoint is at step {manifest.step} already: give --steps a larger number"
        )
