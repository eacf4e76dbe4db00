"""What a checkpoint says about itself, read without PyTorch.

A checkpoint is a folder `step-000200` of data files. Its `manifest.json` is written
last and deleted first, so that a folder without one is what an interrupted save
left behind, and never taken for a checkpoint. That holds on S3 too, where nothing
can be renamed.
"""

from __future__ import annotations

import dataclasses
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainyard.checkpoint import storage
from trainyard.config import ConfigError, TrainConfig

FILE = "manifest.json"


class DamagedError(ConfigError):
    """A checkpoint cannot be read though it was complete once; an older one may do."""


@dataclass(frozen=True)
class Manifest:
    """The state of a run apart from its tensors."""

    step: int  # optimizer steps done
    position: dict[str, Any]  # of the reader, for any number of ranks
    world_size: int  # of the run that saved it
    config: dict[str, Any]
    data: str  # fingerprint
    model: dict[str, Any]  # name, parameters, and a hash of their names and shapes
    files: dict[str, tuple[int, str]]  # name: bytes, CRC-32

    def write(self, folder: str) -> None:
        fields = dataclasses.asdict(self)
        text = json.dumps({**fields, "checksum": _checksum(fields)}, indent=1) + "\n"
        storage.write_bytes(storage.join(folder, FILE), text.encode())


def _checksum(fields: Mapping[str, Any]) -> str:
    """CRC-32 of what a manifest says: a wrong position would mean other documents."""
    return f"{zlib.crc32(json.dumps(fields, sort_keys=True).encode()):08x}"


def folder_name(step: int) -> str:
    return f"step-{step:06d}"


def step_of(name: str) -> int | None:
    """The step of a checkpoint's folder; None for what is no such folder."""
    match = re.fullmatch(r"step-(\d{6,})", name)
    return int(match[1]) if match else None


def folders(directory: str) -> list[tuple[int, str]]:
    """All that are, or were to be, checkpoints: step and place, newest first."""
    try:
        names = storage.listdir(directory)
    except FileNotFoundError:
        return []
    found = [(step, storage.join(directory, name)) for name in names if (step := step_of(name))]
    return sorted(found, reverse=True)


def is_complete(folder: str) -> bool:
    return storage.exists(storage.join(folder, FILE))


def complete(directory: str) -> list[str]:
    """The checkpoints in a directory, newest first."""
    with storage.explained("looking for checkpoints in", directory):
        return [folder for _, folder in folders(directory) if is_complete(folder)]


def find(place: str) -> str:
    """The checkpoint at a place, or else the newest one in it.

    Raises ConfigError if there is none.
    """
    with storage.explained("looking for checkpoints in", place):
        if is_complete(place):
            return place
    if found := complete(place):
        return found[0]
    raise ConfigError(f"no complete checkpoint in {place!r}")


def read(folder: str) -> Manifest:
    """Raises DamagedError if the manifest is not one, ConfigError if it cannot be read."""
    place = storage.join(folder, FILE)
    with storage.explained("reading", place):
        text = storage.read_bytes(place)
    try:
        fields = json.loads(text)
        if (found := fields.pop("checksum")) != (now := _checksum(fields)):
            raise ValueError(f"its checksum is {now} instead of {found}")
        fields["files"] = {name: (size, sum_) for name, (size, sum_) in fields["files"].items()}
        return Manifest(**fields)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedError(f"{place!r} is damaged, or of another version: {error}") from error


def delete(folder: str) -> None:
    """The manifest first: whatever is left, it does not look complete."""
    storage.delete(storage.join(folder, FILE))
    storage.delete(folder)


# A run goes on from a checkpoint only where these agree: the weights would not
# fit, or the position would mean other data.
_IDENTITY = ("model", "tokenizer", "data", "seq_len", "seed")


def check(
    saved: Manifest, config: TrainConfig, data: str, model: Mapping[str, Any] | None = None
) -> None:
    """Raises ConfigError, naming each difference, if a run cannot go on from a checkpoint.

    data is the fingerprint of the run's data, model what `Manifest.model` says,
    where it is known already.
    """
    now = config.to_dict()
    pairs = [(name, saved.config.get(name), now[name]) for name in _IDENTITY]
    pairs.append(("the data's fingerprint", saved.data, data))
    if model is not None:
        pairs.append(("parameters", saved.model.get("parameters"), model["parameters"]))
        pairs.append(("names and shapes", saved.model.get("shapes"), model["shapes"]))
    differences = [f"{name} was {was!r} and is {is_!r}" for name, was, is_ in pairs if was != is_]
    if differences:
        raise ConfigError(
            f"the checkpoint at step {saved.step} is of another run: {', '.join(differences)}; "
            "use the same settings, or another --checkpoint-dir"
        )
    if saved.step > config.steps:
        raise ConfigError(
            f"the checkpoint is at step {saved.step} already, past --steps {config.steps}: "
            "give a larger number"
        )
