"""Every parallel mode trains as one process does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import RunRanks, Settings
from torch.distributed.fsdp import fully_shard

from trainyard import model, optimizer, parallel, weights
from trainyard.config import TrainConfig
from trainyard.data.reader import Batch
from trainyard.parallel import distributed
from trainyard.plan import Plan
from trainyard.report.timeline import Timeline
from trainyard.train import train_step

STEPS = 5
ROWS = 8
SEQ_LEN = 16


def losses(config: TrainConfig, shard_ranks: int, reshard: bool, recompute: bool) -> list[float]:
    """The losses of a few steps on rows that are the same for any number of ranks."""
    with distributed() as world:
        net = model.build(config, world.device)
        originals = weights.twins(net)
        chosen = Plan("test", shard_ranks, reshard, recompute, "", 0, 0)
        parallel.shard(net, chosen, config, world)
        weights.fill(net, originals, config, world)
        adamw = optimizer.build_optimizer(net, config)
        generator = torch.Generator().manual_seed(0)
        rows = torch.randint(0, 256, (ROWS, SEQ_LEN + 1), generator=generator)
        seen = []
        for _ in range(STEPS):
            documents = (torch.arange(SEQ_LEN + 1) >= 5).long().expand(ROWS, -1)
            mine = slice(world.rank, None, world.size)
            pieces = torch.split(rows[mine], ROWS // world.size // config.accumulate)
            scale = torch.tensor(world.size / (ROWS * SEQ_LEN))
            loss = torch.zeros(())
            for number, piece in enumerate(pieces, start=1):
                parallel.synchronize_gradients(net, last=number == len(pieces))
                packing = model.packed(documents[: len(piece), :-1])
                part = net(piece[:, :-1], piece[:, 1:], scale, packing)
                torch.autograd.backward(part)
                loss += part.detach() / world.size
            optimizer.step(adamw, optimizer.gradient_norm(net), 1e-3, config.clip)
            seen.append(parallel.LateScalar(loss).read())
        return seen


@pytest.fixture(scope="module")
def expected() -> dict[str, list[float]]:
    return {}


@pytest.mark.parametrize(
    ("ranks", "shard_ranks", "reshard", "recompute", "accumulate"),
    [
        (2, 1, False, False, 1),  # ddp
        (2, 2, False, False, 2),  # fsdp
        (2, 2, True, True, 1),
        (4, 4, False, False, 1),
        (4, 2, False, False, 2),  # hsdp
        (4, 1, False, False, 1),
    ],
)
def test_modes(
    ranks: int,
    shard_ranks: int,
    reshard: bool,
    recompute: bool,
    accumulate: int,
    settings: Settings,
    run_ranks: RunRanks,
    expected: dict[str, list[float]],
) -> None:
    config = settings("--clip", "0.1")
    if not expected:
        expected["losses"] = run_ranks(1, losses, config, 1, False, False)[0]
    alone = expected["losses"]
    assert alone[0] == pytest.approx(5.545, abs=0.2)  # ln 256: it knows nothing yet
    assert alone[-1] < alone[0] - 0.05
    config = replace(config, accumulate=accumulate)
    for found in run_ranks(ranks, losses, config, shard_ranks, reshard, recompute):
        assert found == pytest.approx(alone, abs=2e-4)


def scaled(config: TrainConfig) -> list[float]:
    """The summed loss, computed in bf16, as it comes out of several scales."""
    with distributed() as world:
        net = model.build(config, world.device)
        originals = weights.twins(net)
        fully_shard(net, mp_policy=parallel.mixed_precision())
        weights.fill(net, originals, config, world)
        rows = torch.arange(32).reshape(2, 16)
        with torch.no_grad():
            return [net(rows, rows, torch.tensor(1 / n)).item() * n for n in (1, 127, 8225)]


def test_the_scale_is_not_rounded(settings: Settings, run_ranks: RunRanks) -> None:
    whole, *others = run_ranks(1, scaled, settings())[0]
    assert others == pytest.approx([whole] * 2, rel=1e-6)


def unequal(config: TrainConfig, shard_ranks: int) -> list[tuple[float, float]]:
    """Loss and norm of a few steps of train_step, each row with documents of its own."""
    with distributed() as world:
        net = model.build(config, world.device)
        originals = weights.twins(net)
        parallel.shard(net, Plan("test", shard_ranks, False, False, "", 0, 0), config, world)
        weights.fill(net, originals, config, world)
        adamw = optimizer.build_optimizer(net, config)
        random = np.random.default_rng(0)
        found = []
        for _ in range(3):
            rows = random.integers(256, size=(ROWS, SEQ_LEN + 1))
            # From one document to nearly one a token.
            often = np.linspace(0, 0.9, ROWS)[:, None]
            owners = (random.random(rows.shape) < often).cumsum(1).astype(np.int32)
            mine = np.split(np.arange(ROWS), world.size)[world.rank]
            batches = [
                Batch(rows[part], owners[part], {}) for part in np.split(mine, config.accumulate)
            ]
            timeline = Timeline(world.device)
            scalars = train_step(net, adamw, batches, 1e-2, config.clip, world, timeline)
            found.append((scalars[0].read(), scalars[1].read()))
        return found


def test_tokens_count_alike_wherever_they_are(settings: Settings, run_ranks: RunRanks) -> None:
    config = settings("--clip", "0.1")
    alone = run_ranks(1, unequal, config, 1)[0]
    for ranks, shard_ranks in ((2, 1), (2, 2), (4, 2)):
        parts = replace(config, accumulate=2)
        for found in run_ranks(ranks, unequal, parts, shard_ranks):
            assert np.array(found) == pytest.approx(np.array(alone), rel=1e-4)
