"""Weights: the same for any number of ranks, and read from safetensors files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from conftest import RunRanks, Settings
from torch import nn
from torch.distributed.tensor import DTensor
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, Qwen2Config

from trainyard import model, parallel, pretrained, weights
from trainyard.config import ConfigError, TrainConfig
from trainyard.parallel import distributed
from trainyard.plan import Plan

SMALL = {
    "vocab_size": 256,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def whole(config: TrainConfig, shard_ranks: int) -> dict[str, torch.Tensor]:
    """All tensors of the filled model, put together."""
    with distributed() as world:
        net = model.build(config, world.device)
        originals = weights.twins(net)
        parallel.shard(net, Plan("test", shard_ranks, False, False, "", 0, 0), config, world)
        weights.fill(net, originals, config, world)
        state = net.net.state_dict()
        return {
            name: value.full_tensor() if isinstance(value, DTensor) else value
            for name, value in state.items()
        }


def save(folder: Path, config: Qwen2Config | LlamaConfig) -> nn.Module:
    net = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    net.save_pretrained(folder)
    assert isinstance(net, nn.Module)
    return net


def test_random_weights(settings: Settings, run_ranks: RunRanks) -> None:
    config = settings()
    alone = run_ranks(1, whole, config, 1)[0]
    shared = run_ranks(2, whole, config, 2)[0]
    assert alone.keys() == shared.keys()
    for name, value in alone.items():
        assert torch.equal(value, shared[name]), name
    matrix = alone["model.layers.0.mlp.up_proj.weight"]
    assert matrix.std().item() == pytest.approx(0.02, rel=0.05)
    assert not torch.equal(matrix, alone["model.layers.1.mlp.up_proj.weight"])
    other = run_ranks(1, whole, settings("--seed", "1"), 1)[0]
    assert not torch.equal(matrix, other["model.layers.0.mlp.up_proj.weight"])


@pytest.mark.parametrize("kind", [Qwen2Config, LlamaConfig])
@pytest.mark.parametrize("tied", [True, False])
def test_read(
    kind: type[Qwen2Config], tied: bool, tmp_path: Path, settings: Settings, run_ranks: RunRanks
) -> None:
    saved = save(tmp_path / "model", kind(**SMALL, tie_word_embeddings=tied))
    found = run_ranks(2, whole, settings("--model", str(tmp_path / "model")), 2)[0]
    expected = saved.state_dict()
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


def test_same_loss_as_transformers(tmp_path: Path, settings: Settings, run_ranks: RunRanks) -> None:
    saved = save(tmp_path / "model", LlamaConfig(**SMALL))
    rows = torch.arange(20).reshape(2, 10)
    expected = saved(rows, labels=rows).loss.item()
    found = run_ranks(1, loss, settings("--model", str(tmp_path / "model")), rows)[0]
    assert found == pytest.approx(expected, abs=1e-5)


def loss(config: TrainConfig, rows: torch.Tensor) -> float:
    with distributed() as world:
        net = model.build(config, world.device)
        originals = weights.twins(net)
        parallel.shard(net, Plan("test", 1, False, False, "", 0, 0), config, world)
        weights.fill(net, originals, config, world)
        return float(net(rows[:, :-1], rows[:, 1:], torch.tensor(1 / 18)))


def test_weights_of_another_model(tmp_path: Path, settings: Settings, run_ranks: RunRanks) -> None:
    folder = tmp_path / "model"
    save(folder, Qwen2Config(**SMALL))
    config = AutoConfig.from_pretrained(folder)
    config.intermediate_size = 96
    config.num_hidden_layers = 3
    config.layer_types = None
    config.save_pretrained(folder)
    message = run_ranks(1, failure, settings("--model", str(folder)))[0]
    assert message.startswith(f"the weights of '{folder}' do not match its config: ")
    assert "model.layers.0.mlp.gate_proj.weight is [64, 32] and should be [96, 32]" in message
    assert message.endswith(" more")


def failure(config: TrainConfig) -> str:
    with pytest.raises(ConfigError) as caught:
        whole(config, 1)
    return str(caught.value)


def test_read_files_of_the_body_alone(tmp_path: Path) -> None:
    """As GPT-2's are, whose names do not begin with `transformer.`."""
    saved = save(tmp_path / "whole", Qwen2Config(**SMALL, tie_word_embeddings=True))
    saved.base_model.save_pretrained(tmp_path / "body")  # type: ignore[operator, union-attr]
    found = AutoModelForCausalLM.from_config(saved.config, dtype=torch.float32)
    pretrained.read(found, tmp_path / "body", "test")
    for name, value in found.state_dict().items():
        assert torch.equal(value, saved.state_dict()[name]), name
