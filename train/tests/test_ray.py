"""Whole jobs on a real Ray with two CPUs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from test_metrics import records

from trainyard import launch

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def session() -> Iterator[dict[str, str]]:
    """A cluster of our own: the environment that leads a driver to it, and its logs."""
    # A short path: sockets are made in it. pytest's own are too long.
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        started = ray.init(
            "local", num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=folder
        )
        where = started.address_info
        yield {"RAY_ADDRESS": where["gcs_address"], "LOGS": where["session_dir"] + "/logs"}
        ray.shutdown()


def drive(session: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trainyard.train", *arguments]
    environment = {**os.environ, **session, "TRAINYARD_METRICS": "json"}
    folder = Path(launch.__file__).parent.parent
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_job(session: dict[str, str], tmp_path: Path) -> None:
    small = ["--steps", "3", "--seq-len", "16", "--batch-size", "2"]
    job = drive(session, *small, "--checkpoint-dir", str(tmp_path))
    assert job.returncode == 0, job.stderr

    outputs = [path.read_text() for path in Path(session["LOGS"]).glob("worker-*.out")]
    written = [
        "".join(line for line in output.splitlines(keepends=True) if '"trainyard"' in line)
        for output in outputs
    ]
    workers = [records(output) for output in written if output]
    assert sorted(len(worker) for worker in workers) == [1, 7]  # each record once
    assert {worker[0]["rank"] for worker in workers} == {0, 1}
    assert {worker[0]["node_rank"] for worker in workers} == {0}
    assert (tmp_path / "step-000003" / "manifest.json").is_file()


def test_too_many_workers(session: dict[str, str], tmp_path: Path) -> None:
    job = drive(session, "--num-workers", "3", "--checkpoint-dir", str(tmp_path))
    assert job.returncode == 2
    assert job.stderr.splitlines()[-1] == (
        "trainyard.train: --num-workers 3 is more than the cluster has: 2 CPUs"
    )
    assert "Traceback" not in job.stderr
