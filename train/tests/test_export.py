"""What is exported is a model for transformers, or nothing that looks like one."""

from __future__ import annotations

import contextlib
import io
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import RunRanks, Settings
from safetensors.torch import load_file
from test_checkpoint import run, take_step
from test_weights import SMALL
from torch import nn
from transformers import AutoModelForCausalLM, MixtralConfig

from trainyard import pretrained
from trainyard.checkpoint import export, storage
from trainyard.config import ConfigError, TrainConfig

TOKENS = torch.arange(33).remainder(256)[None]


def trained(config: TrainConfig, file_size: int, environ: dict[str, str]) -> float | str:
    """Train a step and export; the loss on TOKENS, or what went wrong."""
    os.environ.update(environ)
    export.FILE_SIZE = file_size
    with run(config, group=2) as (checkpoints, net, adamw):
        take_step(net, adamw, 0)
        try:
            assert export.save(net, config, checkpoints._world) == config.export
        except ConfigError as error:
            return str(error)
        with torch.no_grad():
            return float(net(TOKENS[:, :-1], TOKENS[:, 1:], torch.tensor(1 / 32)))


def loss(folder: Path) -> float:
    net: Any = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        logits = net(TOKENS[:, :-1]).logits
    return float(nn.functional.cross_entropy(logits[0], TOKENS[0, 1:]))


def test_export(settings: Settings, run_ranks: RunRanks, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model-00001-of-00007.safetensors").write_text("an older one")
    (folder / "notes").write_text("kept")
    expected, _ = run_ranks(2, trained, settings("--export", str(folder)), 4_000_000, {})
    assert loss(folder) == pytest.approx(expected, abs=1e-5)
    assert sorted(path.name for path in folder.iterdir()) == [
        *("config.json", "generation_config.json", "model-00001-of-00002.safetensors"),
        *("model-00002-of-00002.safetensors", "model.safetensors.index.json", "notes"),
    ]


def test_experts(settings: Settings, run_ranks: RunRanks, tmp_path: Path) -> None:
    """Files have the tensors that save_pretrained writes, and are read by all who read those."""
    about = MixtralConfig(**SMALL, num_local_experts=3, num_experts_per_tok=2)
    read, exported = tmp_path / "read", tmp_path / "exported"
    AutoModelForCausalLM.from_config(about, dtype=torch.float32).save_pretrained(read)
    config = settings("--model", str(read), "--tokenizer", "bytes", "--export", str(exported))
    expected, _ = run_ranks(2, trained, config, 30_000, {})
    assert loss(exported) == pytest.approx(expected, abs=1e-5)
    files = [load_file(path) for path in exported.glob("*.safetensors")]
    assert len(files) > 5
    assert {key: value.shape for file in files for key, value in file.items()} == {
        key: value.shape for key, value in load_file(read / "model.safetensors").items()
    }
    again: Any = AutoModelForCausalLM.from_config(about, dtype=torch.float32)
    pretrained.read(again, exported, "test")
    loaded: Any = AutoModelForCausalLM.from_pretrained(exported)
    for key, value in loaded.state_dict().items():
        assert torch.equal(again.state_dict()[key], value), key


def test_export_to_s3(
    settings: Settings,
    run_ranks: RunRanks,
    s3: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    place = f"s3://bucket/{tmp_path.name}"
    config = settings("--export", place)
    expected, _ = run_ranks(2, trained, config, 1 << 30, s3)
    for name in storage.listdir(place):
        (tmp_path / name).write_bytes(storage.read_bytes(storage.join(place, name)))
    assert loss(tmp_path) == pytest.approx(expected, abs=1e-5)

    absent = replace(config, export="s3://absent/model")
    for text in run_ranks(2, trained, absent, 1 << 30, s3):
        assert text.startswith("exporting the model to 's3://absent/model': no such bucket: ")


def test_tied_tensors_and_a_module_of_ones_own(
    settings: Settings, run_ranks: RunRanks, tmp_path: Path
) -> None:
    config = settings("--export", str(tmp_path / "model"), "--model", "test_export:own_module")
    lines = run_ranks(2, told, config)
    assert lines[0].startswith("trainyard.train: exporting weights only: test_export:own_module ")
    assert lines[1] == ""
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["model.safetensors"]
    assert {
        name: list(tensor.shape)
        for name, tensor in load_file(tmp_path / "model" / "model.safetensors").items()
    } == {"embedding.weight": [256, 8]}


def told(config: TrainConfig) -> str:
    with contextlib.redirect_stderr(io.StringIO()) as lines:
        trained(config, 1 << 30, {})
    return lines.getvalue()


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(256, 8)
        self.head = nn.Linear(8, 256, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.embedding(tokens))
        return logits


def own_module(config: TrainConfig) -> nn.Module:
    return Tied()
