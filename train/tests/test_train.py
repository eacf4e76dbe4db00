"""Training itself, on processes that talk over gloo."""

from __future__ import annotations

import contextlib
import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import RunRanks, Settings
from test_metrics import records

from trainyard import metrics, model, parallel, train
from trainyard.config import PRESETS, TrainConfig

LN_256 = math.log(256)


def test_tiny_model() -> None:
    net = model.build(PRESETS["tiny"], seed=0, device=torch.device("cpu"))
    assert model.parameter_count(net) == 1_706_240
    assert {parameter.dtype for parameter in net.parameters()} == {torch.float32}
    # Knowing nothing, it finds all bytes about equally likely.
    tokens = torch.randint(0, 256, (8, 65), generator=torch.Generator().manual_seed(0))
    assert model.next_token_loss(net, tokens).item() == pytest.approx(LN_256, abs=0.15)


def test_seed_decides_the_weights() -> None:
    first, again, other = (
        model.build(PRESETS["tiny"], seed, torch.device("cpu")).lm_head.weight for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_learning_rate(settings: Settings) -> None:
    config = settings("--learning-rate", "0.1")
    rates = [train.learning_rate(config, step) for step in (1, 10, 20, 200)]
    assert rates == pytest.approx([0.005, 0.05, 0.1, 0.1])


def test_step_reduces_loss(run_ranks: RunRanks) -> None:
    for losses in run_ranks(2, repeated_steps):
        assert losses[0] == pytest.approx(LN_256, abs=0.3)
        assert losses[-1] < losses[0] - 1


def repeated_steps() -> list[float]:
    """The losses of ten steps on one batch."""
    with parallel.distributed() as world:
        net = model.build(PRESETS["tiny"], 0, world.device)
        parallel.shard(net, net.model.layers, world)
        optimizer = model.build_optimizer(net, 1e-3)
        batch = torch.arange(66).reshape(2, 33)
        return [train.train_step(net, optimizer, batch, 1e-3).item() for _ in range(10)]


def test_records(settings: Settings, run_ranks: RunRanks) -> None:
    first, second = run_ranks(2, captured, [settings("--steps", "3")])[:2]
    lead, other = first[0], second[0]

    assert [record["event"] for record in lead] == [
        *("rank", "start", "step", "step", "step", "checkpoint", "done")
    ]
    assert [record["event"] for record in other] == ["rank"]
    assert (lead[0]["rank"], other[0]["rank"]) == (0, 1)
    assert (lead[0]["local_rank"], other[0]["local_rank"]) == (0, 1)
    assert lead[0]["node"] == other[0]["node"]
    assert lead[0]["pid"] != other[0]["pid"]

    assert {event["event"]: sorted(event) for event in lead} == {
        name: sorted(["trainyard", "event", *fields.split()]) for name, fields in CONTRACT.items()
    }
    steps = [record for record in lead if record["event"] == "step"]
    assert [record["step"] for record in steps] == [1, 2, 3]
    assert all(record["tokens_per_second"] > 0 for record in steps)
    assert lead[-1]["first_loss"] == steps[0]["loss"]
    assert lead[-1]["last_loss"] == steps[-1]["loss"]
    assert lead[-1]["seconds"] == pytest.approx(steps[-1]["elapsed"])


# What the command-line tool reads. Adding a field is fine, anything else is a
# new version of the contract.
CONTRACT = {
    "rank": "rank world_size local_rank node_rank node pid device backend",
    "start": "model parameters data data_bytes steps batch_size seq_len world_size device backend"
    " parallel",
    "step": "step steps loss tokens_per_second seconds elapsed world_size learning_rate",
    "checkpoint": "path step seconds",
    "done": "steps first_loss last_loss seconds tokens_per_second",
}


def captured(configs: list[TrainConfig]) -> list[list[dict[str, Any]]]:
    """The records that this rank writes in one run after the other."""
    runs = []
    for config in configs:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            train.train(config)
        runs.append(records(output.getvalue()))
    return runs


def losses(run: list[dict[str, Any]]) -> list[float]:
    return [record["loss"] for record in run if record["event"] == "step"]


def test_resumed_run_equals_an_uninterrupted_one(settings: Settings, run_ranks: RunRanks) -> None:
    straight = settings("--steps", "6")
    other_folder = straight.checkpoint_dir + "-2"
    half = replace(straight, steps=3, checkpoint_dir=other_folder)
    rest = replace(straight, checkpoint_dir=other_folder, resume=f"{other_folder}/step-000003")
    whole, start, end = (losses(run) for run in run_ranks(2, captured, [straight, half, rest])[0])
    assert len(whole) == 6
    assert start + end == whole

    # The same windows in one process: only the order of sums differs.
    alone = replace(rest, batch_size=2 * rest.batch_size)
    assert losses(run_ranks(1, captured, [alone])[0][0]) == pytest.approx(whole[3:], abs=1e-4)


def test_lines_for_people(settings: Settings, run_ranks: RunRanks) -> None:
    config = replace(settings("--steps", "2"), json_metrics=False)
    lines = run_ranks(1, output_of, config)[0].splitlines()
    assert [line.split()[0] for line in lines] == [
        "rank",
        "tiny:",
        "step",
        "step",
        "saved",
        "done:",
    ]
    kept = (Path(config.checkpoint_dir) / metrics.FILE).read_text(encoding="utf-8")
    assert [record["event"] for record in records(kept)] == [
        *("rank", "start", "step", "step", "checkpoint", "done")
    ]


def output_of(config: TrainConfig) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        train.train(config)
    return output.getvalue()
