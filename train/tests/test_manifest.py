from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from conftest import Settings

from trainyard import manifest
from trainyard.config import ConfigError
from trainyard.manifest import Manifest


def write(folder: Path, step: int, config: dict[str, Any] | None = None) -> Path:
    folder.mkdir(parents=True)
    Manifest(step, position=8, data_bytes=100, config=config or {}).write(folder)
    return folder


def test_find(tmp_path: Path) -> None:
    older = write(tmp_path / "step-000009", 9)
    newest = write(tmp_path / "step-000010", 10)
    write(tmp_path / "step-000011.partial", 11)
    (tmp_path / "step-000012").mkdir()
    assert manifest.find(tmp_path) == newest
    assert manifest.find(older) == older


@pytest.mark.parametrize("name", ["", "missing", "step-000011.partial", "step-000012"])
def test_find_nothing(tmp_path: Path, name: str) -> None:
    write(tmp_path / "step-000011.partial", 11)
    (tmp_path / "step-000012").mkdir()
    with pytest.raises(ConfigError, match="no complete checkpoint in"):
        manifest.find(tmp_path / name)


def test_read_garbage(tmp_path: Path) -> None:
    (tmp_path / manifest.FILE).write_text("{")
    with pytest.raises(ConfigError, match=r"reading '.*manifest.json':"):
        manifest.read(tmp_path)


def test_check(settings: Settings) -> None:
    config = settings("--steps", "20")
    saved = Manifest(10, 8, 100, config.to_dict())
    manifest.check(saved, config, 100)
    # What may change from one run to the next:
    manifest.check(saved, settings("--steps", "11", "--batch-size", "9"), 100)

    with pytest.raises(ConfigError, match="seq_len was 16 and is 32, seed was 42 and is 1"):
        manifest.check(saved, settings("--seq-len", "32", "--seed", "1"), 100)
    with pytest.raises(ConfigError, match="data_bytes was 100 and is 101"):
        manifest.check(saved, config, 101)
    with pytest.raises(ConfigError, match="at step 20 already"):
        manifest.check(dataclasses.replace(saved, step=20), config, 100)
