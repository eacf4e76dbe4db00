from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from conftest import Settings

from trainyard.checkpoint import manifest, shards
from trainyard.checkpoint.manifest import Manifest
from trainyard.config import ConfigError

MODEL = {"name": "tiny", "parameters": 12, "shapes": "abc"}


def write(folder: Path, step: int, config: dict[str, Any] | None = None) -> str:
    folder.mkdir(parents=True)
    about = Manifest(
        step=step,
        position={"lanes": 1, "cursors": {"0": {"rows": 8}}},
        world_size=2,
        config=config or {},
        data="fingerprint",
        model=MODEL,
        files={"__0_0.distcp": (10, "00c0ffee")},
    )
    about.write(str(folder))
    assert manifest.read(str(folder)) == about
    return str(folder)


def test_find(tmp_path: Path) -> None:
    older = write(tmp_path / "step-999999", 999999)
    newest = write(tmp_path / "step-1000000", 1000000)
    (tmp_path / "step-1000001").mkdir()
    (tmp_path / "evidence").mkdir()
    assert manifest.find(str(tmp_path)) == newest
    assert manifest.find(older) == older
    assert manifest.complete(str(tmp_path)) == [newest, older]


@pytest.mark.parametrize("name", ["", "missing", "step-000012"])
def test_find_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "step-000012").mkdir()
    with pytest.raises(ConfigError, match="no complete checkpoint in"):
        manifest.find(str(tmp_path / name))
    assert manifest.complete(str(tmp_path / name)) == []


def test_prune(tmp_path: Path) -> None:
    """Only complete ones count, and none that is newer than the one just saved."""
    for step in (1, 999999, 1000000, 1000002):
        write(tmp_path / manifest.folder_name(step), step)
    (tmp_path / "step-1000001").mkdir()
    (tmp_path / "notes").mkdir()
    shards.prune(str(tmp_path / "step-1000000"), keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("notes", "step-1000000", "step-1000002", "step-999999"),
    ]


@pytest.mark.parametrize("text", ["{", "{}", "[]", '{"files": {"a": 1}}'])
def test_damaged(tmp_path: Path, text: str) -> None:
    (tmp_path / manifest.FILE).write_text(text)
    with pytest.raises(manifest.DamagedError, match=r"manifest.json' is damaged, or of another"):
        manifest.read(str(tmp_path))


def test_a_changed_position_is_damage(tmp_path: Path) -> None:
    file = Path(write(tmp_path / "step-000010", 10), manifest.FILE)
    file.write_text(file.read_text().replace('"rows": 8', '"rows": 9'))
    with pytest.raises(manifest.DamagedError, match=r"its checksum is [0-9a-f]{8} instead of"):
        manifest.read(str(file.parent))


def test_check(settings: Settings, tmp_path: Path) -> None:
    config = settings("--steps", "20")
    saved = manifest.read(write(tmp_path / "step-000010", 10, config.to_dict()))
    manifest.check(saved, config, "fingerprint", MODEL)
    # What may change from one run to the next:
    manifest.check(saved, settings("--steps", "11", "--batch-size", "9"), "fingerprint")
    manifest.check(saved, settings("--steps", "10"), "fingerprint")

    with pytest.raises(ConfigError, match="seq_len was 16 and is 32, seed was 42 and is 1;"):
        manifest.check(saved, settings("--seq-len", "32", "--seed", "1"), "fingerprint")
    with pytest.raises(ConfigError, match="the data's fingerprint was 'fingerprint' and is 'x'"):
        manifest.check(saved, config, "x")
    other = {**MODEL, "parameters": 13, "shapes": "abd"}
    with pytest.raises(ConfigError, match="parameters was 12 and is 13, names and shapes was"):
        manifest.check(saved, config, "fingerprint", other)
    with pytest.raises(ConfigError, match="at step 21 already, past --steps 20"):
        manifest.check(dataclasses.replace(saved, step=21), config, "fingerprint")
