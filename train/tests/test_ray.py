"""Whole jobs on a real Ray with two CPUs."""

from __future__ import annotations

import itertools
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
import torch
import torch.distributed as dist
from conftest import RunRanks
from torch import Tensor, nn

from trainyard import config as configuration
from trainyard import launch
from trainyard.checkpoint import manifest
from trainyard.config import TrainConfig

pytestmark = pytest.mark.ray

SMALL = ["--steps", "8", "--seq-len", "16", "--batch-size", "2", "--checkpoint-every", "2"]
MARKER = "TRAINYARD_TEST_MARKER"  # names a file that a model writes when it fails


@pytest.fixture(scope="module")
def session() -> Iterator[dict[str, str]]:
    """A cluster of our own: the environment that leads a driver to it, and its logs."""
    # A short path: sockets are made in it. pytest's own are too long.
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        os.environ["PYTHONPATH"] = str(Path(__file__).parent)  # workers find the models below
        os.environ[MARKER] = marker = f"{folder}/marker"
        started = ray.init(
            "local", num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=folder
        )
        where = started.address_info
        yield {
            "RAY_ADDRESS": where["gcs_address"],
            "LOGS": where["session_dir"] + "/logs",
            MARKER: marker,
        }
        ray.shutdown()
        del os.environ["PYTHONPATH"], os.environ[MARKER]


def drive(session: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trainyard.train", *arguments]
    environment = {**os.environ, **session, "TRAINYARD_METRICS": "json"}
    folder = Path(launch.__file__).parents[1]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def written(session: dict[str, str]) -> list[list[dict[str, Any]]]:
    """The records of each worker."""
    lines = [path.read_text().splitlines() for path in Path(session["LOGS"]).glob("worker-*.out")]
    workers = [[json.loads(line) for line in own if '"trainyard"' in line] for own in lines]
    return [worker for worker in workers if worker]


def ours(job: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines of the driver that are not Ray's."""
    return [line for line in job.stderr.splitlines() if line.startswith("trainyard.train:")]


def test_too_many_workers(session: dict[str, str], tmp_path: Path) -> None:
    job = drive(session, "--num-workers", "3", "--checkpoint-dir", str(tmp_path))
    assert job.returncode == 2
    assert ours(job) == ["trainyard.train: --num-workers 3 is more than the cluster has: 2 CPUs"]
    assert "Traceback" not in job.stderr


class Mortal(nn.Module):
    """A small model; in one process of the second rank, its sixth step is its last."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(256, 16)
        self.head = nn.Linear(16, 256)
        self._steps = 0

    def forward(self, tokens: Tensor) -> Tensor:
        self._steps += 1
        marker = Path(os.environ[MARKER])
        if self._steps == 6 and dist.get_rank() == 1 and not marker.exists():
            marker.write_text("killed")
            os.kill(os.getpid(), signal.SIGKILL)
        logits: Tensor = self.head(self.embedding(tokens))
        return logits


def mortal(config: TrainConfig) -> nn.Module:
    return Mortal()


def test_killed_worker(session: dict[str, str], tmp_path: Path, run_ranks: RunRanks) -> None:
    """The run ends by itself, with the losses of one that was not interrupted."""
    arguments = [*SMALL, "--eval-every", "0", "--model", "test_ray:mortal"]
    job = drive(session, *arguments, "--checkpoint-dir", str(tmp_path / "killed"))
    assert job.returncode == 0, job.stderr
    assert Path(session[MARKER]).read_text() == "killed"

    workers = written(session)
    assert len(workers) == 4  # two ranks, twice
    assert {worker[0]["rank"] for worker in workers} == {0, 1}
    assert {worker[0]["node_rank"] for worker in workers} == {0}
    assert manifest.complete(str(tmp_path / "killed"))[0].endswith("step-000008")
    assert not (tmp_path / "killed" / "ray").exists()  # Ray's own files are elsewhere
    losses = defaultdict(set)
    for record in itertools.chain(*workers):
        if record["event"] == "step":
            losses[record["step"]].add(record["loss"])
    expected = run_ranks(2, uninterrupted, arguments, str(tmp_path / "whole"), session[MARKER])[0]
    assert losses == {step: {loss} for step, loss in expected.items()}


def uninterrupted(arguments: list[str], folder: str, marker: str) -> dict[int, float]:
    """The loss of each step, under no Ray."""
    from test_train import captured

    os.environ[MARKER] = marker
    environ = {configuration.METRICS_VARIABLE: "json"}
    config = configuration.parse([*arguments, "--checkpoint-dir", folder], environ)
    [run] = captured([config])
    return {record["step"]: record["loss"] for record in run if record["event"] == "step"}


def unusable(config: TrainConfig) -> Any:
    with Path(os.environ[MARKER]).open("a") as marker:
        marker.write("tried\n")
    return "no module"


def test_a_fault_that_only_workers_see(session: dict[str, str], tmp_path: Path) -> None:
    """It is told once, in one line, and not tried again."""
    Path(session[MARKER]).unlink(missing_ok=True)
    job = drive(session, "--model", "test_ray:unusable", "--checkpoint-dir", str(tmp_path))
    assert job.returncode == 2
    message = "--model test_ray:unusable must return an nn.Module, not a str"
    assert ours(job) == [f"trainyard.train: {message}"]
    assert "/trainyard/" not in job.stderr  # no traceback through our code
    # Each of two workers at most: the second may have been ended before it began.
    assert Path(session[MARKER]).read_text() in ("tried\n", "tried\ntried\n")


def test_survey(session: dict[str, str]) -> None:
    job = subprocess.run(
        [sys.executable, "-m", "trainyard.survey"],
        cwd=Path(launch.__file__).parents[1],
        env={**os.environ, **session},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    (line,) = job.stdout.splitlines()
    record = json.loads(line)
    assert (record["trainyard"], record["event"]) == (1, "node")
    assert record["node"]
    assert record["host"] == platform.node()
    assert isinstance(record["counters"], list)
