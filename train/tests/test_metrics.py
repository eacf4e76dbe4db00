from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from conftest import Settings
from torch._C._distributed_c10d import HashStore

from trainyard import config as configuration
from trainyard.config import TrainConfig
from trainyard.parallel import LateScalar, World
from trainyard.plan import ModelSize, Plan
from trainyard.report import flops, records
from trainyard.report.failure import RunError
from trainyard.report.guard import PATIENCE
from trainyard.report.journal import local_folder
from trainyard.report.metrics import CURVES, Metrics
from trainyard.report.timeline import REST, Timeline

SIZE = ModelSize("tiny", 1000, 100, 2, 16, 48)
PLAN = Plan("ddp", 1, False, False, "a copy of the model fits on every GPU", 0, 3_000_000_000)
DATA: Any = SimpleNamespace(bytes=4_500_000)


@pytest.fixture
def world() -> Iterator[World]:
    """A single rank of its own."""
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    yield World(
        rank=0,
        size=1,
        local_rank=0,
        local_size=1,
        node_rank=0,
        nodes=1,
        even=True,
        node="worker-0",
        device=torch.device("cpu"),
        backend="gloo",
    )
    dist.destroy_process_group()


def run(config: TrainConfig, world: World, losses: list[float], first: int = 0) -> str:
    """What a run with these losses writes."""
    output = io.StringIO()
    metrics = Metrics(config, world, output)
    metrics.rank()
    metrics.start(SIZE, PLAN, DATA, first)
    for step, loss in enumerate(losses, start=first + 1):
        metrics.timeline.start()
        metrics.timeline.mark("data")
        with metrics.profiled(step):
            metrics.timeline.mark("forward_backward")
            metrics.timeline.mark("optimizer")
        metrics.step(step, LateScalar(torch.tensor(loss)), LateScalar(torch.tensor(1.5)), 3e-3)
    metrics.evaluation(len(losses), 2.0)
    metrics.checkpoints([("/run/step-000002", 2, 0.25)])
    metrics.done()
    return output.getvalue()


def records_of(output: str) -> list[dict[str, Any]]:
    """The records in what a rank wrote; fails on a line that is none."""
    lines = output.splitlines()
    assert all(line.startswith('{"trainyard": 1, "event": "') for line in lines)
    return [json.loads(line, parse_constant=pytest.fail) for line in lines]


def test_records_of_a_run(settings: Settings, world: World) -> None:
    config = settings("--accumulate", "2", "--steps", "2")
    said = records_of(run(config, world, [5.5, 4.5]))
    events = ["rank", "start", "step", "step", "evaluation", "checkpoint", "done"]
    assert [record["event"] for record in said] == events
    _, start, _, step, evaluation, checkpoint, done = said
    assert (start["parallel"], start["reason"]) == ("ddp", PLAN.reason)
    assert (start["bytes_across_nodes"], start["data_bytes"]) == (3_000_000_000, 4_500_000)
    assert (step["step"], step["steps"], step["loss"], step["grad_norm"]) == (2, 2, 4.5, 1.5)
    assert step["tokens"] == 2 * 2 * 2 * 16  # steps, passes, sequences, tokens
    assert step["tokens_per_second"] == pytest.approx(64 / step["seconds"], rel=0.01)
    parts = [step[f"{part}_seconds"] for part in ("data", "forward_backward", "optimizer")]
    assert 0 < sum(parts) < step["seconds"]
    unknown = ("mfu", "memory_bytes", "communication_seconds", "exposed_communication_seconds")
    assert {step[name] for name in unknown} == {None}  # on a CPU
    assert set(CURVES) <= set(step)
    assert evaluation["perplexity"] == pytest.approx(math.exp(2), rel=1e-4)
    assert checkpoint["path"] == "/run/step-000002"
    assert (done["steps"], done["first_loss"], done["last_loss"]) == (2, 5.5, 4.5)


def test_a_resumed_run_says_from_where(settings: Settings, world: World) -> None:
    said = records_of(run(settings("--steps", "102"), world, [2.5, 2.4], first=100))
    assert said[1]["first_step"] == 101
    assert (said[2]["event"], said[2]["step"]) == ("resumed", 100)
    steps = [record["step"] for record in said if record["event"] == "step"]
    assert steps == [101, 102]
    assert said[-1]["steps"] == 2


def test_a_run_with_nothing_left_to_do(settings: Settings, world: World) -> None:
    done = records_of(run(settings("--steps", "100"), world, [], first=100))[-1]
    assert (done["steps"], done["first_loss"], done["tokens_per_second"]) == (0, None, None)


def test_what_is_not_finite_is_null_and_warned_of(settings: Settings, world: World) -> None:
    said = records_of(run(settings("--steps", "3"), world, [5.5, math.nan, 5.4]))
    step, warning = said[3:5]
    assert (step["step"], step["loss"]) == (2, None)
    assert (warning["event"], warning["step"]) == ("warning", 2)
    assert warning["message"].startswith("at step 2 the loss is nan")


def test_nothing_but_nan_ends_the_run(settings: Settings, world: World) -> None:
    with pytest.raises(RunError, match="nothing was finite since step 1 "):
        run(settings("--steps", "9"), world, [math.nan] * (PATIENCE + 1))


def test_people_get_lines_and_a_file(world: World, tmp_path: Path) -> None:
    config = configuration.parse(["--steps", "2", "--checkpoint-dir", str(tmp_path / "run")], {})
    lines = run(config, world, [5.5, 4.5]).splitlines()
    assert lines[0] == "rank 0 of 1 on worker-0, cpu, gloo"
    assert lines[1].startswith("tiny: 1,000 parameters, 4,500,000 bytes of stdlib, 1 ranks, ddp (")
    assert "3.00 GB a step from each node to others" in lines[1]
    assert lines[-1].startswith("done: 2 steps in ")
    kept = records_of((tmp_path / "run" / "metrics.jsonl").read_text())
    assert [record["event"] for record in kept].count("step") == 2
    assert any((tmp_path / "run" / "tensorboard").iterdir())


def test_curves_of_a_run_in_a_bucket_are_kept_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = configuration.parse(["--checkpoint-dir", "s3://bucket/runs/one/"], {})
    assert local_folder(config) == tmp_path / "trainyard-metrics" / "one"


def test_json_line() -> None:
    line = records.json_line("step", {"step": 1, "loss": 5.5})
    assert line == '{"trainyard": 1, "event": "step", "step": 1, "loss": 5.5}'
    assert "\n" not in records.json_line("start", {"data": "a\nb"})
    assert records.json_line("x", {"a": [math.nan], "b": {"c": math.inf}}).endswith(
        '"a": [null], "b": {"c": null}}'
    )


def test_text_lines_are_aligned() -> None:
    lines = [
        records.text_line("step", step(number, rate, mfu))
        for number, rate, mfu in [(1, 99, None), (200, 1e6, 0.4567)]
    ]
    assert lines == [
        "step      1/200  loss  5.5000           99 tokens/s     0.125 s  lr 3.00e-03",
        "step    200/200  loss  5.5000    1,000,000 tokens/s     0.125 s  lr 3.00e-03  MFU 0.457",
    ]


def step(number: int, tokens_per_second: float, mfu: float | None) -> dict[str, Any]:
    return {
        "step": number,
        "steps": 200,
        "loss": 5.5,
        "tokens_per_second": tokens_per_second,
        "seconds": 0.125,
        "learning_rate": 3e-3,
        "mfu": mfu,
    }


def test_parts_of_a_step_add_up() -> None:
    timeline = Timeline(torch.device("cpu"))
    timeline.mark("data")
    timeline.start()  # what was before belongs to no step
    for name in ("data", "forward_backward", "data", "forward_backward", "optimizer"):
        timeline.mark(name)
    first = timeline.cut()
    second = timeline.cut()
    assert list(first.seconds()) == ["data", "forward_backward", "optimizer", REST]
    assert list(second.seconds()) == [REST]
    assert first._marks[-1] == second._marks[0]


def test_checkpoints_and_evaluations_are_no_waiting_for_data(
    settings: Settings, world: World
) -> None:
    metrics = Metrics(settings(), world, io.StringIO())
    metrics.checkpoints([])
    metrics.timeline.mark("data")
    assert list(metrics.timeline.cut().seconds()) == ["checkpoint", "data", REST]
    metrics.checkpoints([])
    metrics.evaluation(1, 2.0)
    metrics.timeline.mark("data")
    assert list(metrics.timeline.cut().seconds()) == ["data", REST]


@pytest.mark.parametrize(
    ("device", "teraflops"),
    [
        ("NVIDIA H200", 989),
        ("NVIDIA H100 80GB HBM3", 989),
        ("NVIDIA H100 PCIe", 756),
        ("NVIDIA GH200 480GB", 989),
        ("NVIDIA A100-SXM4-40GB", 312),
        ("NVIDIA A10G", 70),
        ("NVIDIA L4", 121),
        ("NVIDIA L40S", 362),
        ("Tesla V100-SXM2-16GB", 125),
        ("Tesla V100-PCIE-32GB", 112),
        ("NVIDIA B200", 2250),
        ("NVIDIA GB200", 2500),
        ("NVIDIA GeForce RTX 4090", None),
    ],
)
def test_peak(device: str, teraflops: float | None) -> None:
    assert flops.peak(device) == (None if teraflops is None else teraflops * 1e12)


def test_mfu_of_a_published_figure() -> None:
    """A measurement: 44.2k tokens/s of Qwen2.5-1.5B on two H200 at 2048 tokens is 0.23."""
    per_token = flops.flops_per_token(1_543_714_304, 28, 1536, 2048)
    assert flops.mfu(44_200, per_token, 989e12, 2) == pytest.approx(0.23, abs=0.005)
    assert flops.mfu(44_200, per_token, None, 2) is None
