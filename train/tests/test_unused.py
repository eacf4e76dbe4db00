"""Ranks that use different weights of a model train it as one process does."""

from __future__ import annotations

import pytest
import torch
from conftest import RunRanks, Settings
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from trainyard import parallel
from trainyard.config import TrainConfig
from trainyard.model import LanguageModel
from trainyard.plan import Plan


class Block(nn.Module):
    """Four experts, of which each token takes one."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))

    def forward(self, hidden: Tensor, expert: int) -> Tensor:
        output = hidden + self.experts[expert](hidden)
        assert isinstance(output, Tensor)
        return output


class Mixture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(8, 4)
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.heads = nn.ModuleDict({str(number): nn.Linear(4, 8) for number in range(4)})

    def forward(self, tokens: Tensor) -> Tensor:
        expert, hidden = int(tokens[0, 0]), self.embedding(tokens)
        for layer in self.layers:
            hidden = layer(hidden, expert)
        logits = self.heads[str(expert)](hidden)
        assert isinstance(logits, Tensor)
        return logits


def differences(config: TrainConfig, shard_ranks: int, reshard: bool) -> list[float]:
    """How far each gradient is from the mean of what the ranks' tokens give alone."""
    with parallel.distributed() as world:
        torch.manual_seed(0)
        alone = LanguageModel(Mixture(), config.model)
        torch.manual_seed(world.rank)  # as if the user's function drew by itself
        net = LanguageModel(Mixture(), config.model)
        parallel.shard(net, Plan("test", shard_ranks, reshard, False, "", 0, 0), config, world)

        one = torch.tensor(1.0)
        for rank in range(world.size):
            tokens = torch.full((1, 3), rank)
            torch.autograd.backward(alone(tokens, tokens, one / world.size))
        tokens = torch.full((1, 3), world.rank)
        torch.autograd.backward(net(tokens, tokens, one))
        found = []
        for weight, same in zip(net.parameters(), alone.parameters(), strict=True):
            gradient = weight.grad
            assert isinstance(gradient, DTensor)
            expected = torch.zeros_like(same) if same.grad is None else same.grad
            found.append((gradient.full_tensor() - expected).abs().max().item())
        return found


@pytest.mark.parametrize(("shard_ranks", "reshard"), [(1, False), (2, False), (2, True)])
def test_experts(shard_ranks: int, reshard: bool, settings: Settings, run_ranks: RunRanks) -> None:
    config = settings("--model", "mine:build")
    for found in run_ranks(2, differences, config, shard_ranks, reshard):
        assert found == pytest.approx([0.0] * len(found), abs=1e-6)


def test_outputs_may_be_changed_in_place(settings: Settings, run_ranks: RunRanks) -> None:
    assert run_ranks(1, in_place, settings("--model", "mine:build")) == [True]


def in_place(config: TrainConfig) -> bool:
    with parallel.distributed() as world:
        net = LanguageModel(InPlace(), config.model)
        parallel.shard(net, Plan("test", 1, False, False, "", 0, 0), config, world)
        tokens = torch.zeros(1, 3, dtype=torch.long)
        torch.autograd.backward(net(tokens, tokens, torch.tensor(1.0)))
        return all(weight.grad is not None for weight in net.parameters())


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(8, 8)
        self.layers = nn.ModuleList([nn.Linear(8, 8)])
        self.unused = nn.Linear(8, 8)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.layers[0](self.embedding(tokens))
        hidden += 1
        assert isinstance(hidden, Tensor)
        return hidden
