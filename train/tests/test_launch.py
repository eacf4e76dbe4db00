"""The driver, up to where it would start workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Settings

from trainyard import launch
from trainyard.config import ConfigError

HEAD = {"memory": 1e9}


@pytest.mark.parametrize(
    ("asked", "nodes", "expected"),
    [
        ("0", [HEAD, {"CPU": 1.0}, {"CPU": 1.0}], (2, "CPU")),
        ("1", [HEAD, {"CPU": 1.0}, {"CPU": 1.0}], (1, "CPU")),
        ("0", [HEAD, {"CPU": 8.0, "GPU": 4.0}, {"CPU": 8.0, "GPU": 4.0}], (8, "GPU")),
        ("0", [{"CPU": 1.5}, {"CPU": 1.5}], (2, "CPU")),  # a worker is on one node
    ],
)
def test_size_workers(
    settings: Settings, asked: str, nodes: list[dict[str, float]], expected: tuple[int, str]
) -> None:
    config, resource = launch.size_workers(settings("--num-workers", asked), nodes)
    assert (config.num_workers, resource) == expected


def test_more_workers_than_the_cluster_has(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="--num-workers 3 is more than the cluster has: 2 GPUs"):
        launch.size_workers(settings("--num-workers", "3"), [{"CPU": 8.0, "GPU": 2.0}])
    with pytest.raises(ConfigError, match="neither GPUs nor CPUs"):
        launch.size_workers(settings(), [HEAD])


def test_data_too_short(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="--seq-len 16 is longer than the data: 16 bytes"):
        launch.check_data(settings("--num-workers", "1"), 16)
    with pytest.raises(ConfigError, match=r"3 windows of 16 tokens.* 2 workers x 2 needs 4"):
        launch.check_data(settings("--num-workers", "2"), 50)
    launch.check_data(settings("--num-workers", "2"), 65)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "huge"], "unknown model 'huge': choose from tiny"),
        (["--data", "/nowhere/text"], "data file '/nowhere/text' does not exist"),
        (["--resume", "/nowhere"], "no complete checkpoint in '/nowhere'"),
        (["--checkpoint-dir", "/dev/null/x"], "making --checkpoint-dir '/dev/null/x': "),
    ],
)
def test_user_fault_is_one_line_and_exit_2(
    arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert launch.main(arguments) == 2
    stdout, stderr = capfd.readouterr()
    assert stdout == ""
    assert stderr.startswith(f"trainyard.train: {message}")
    assert stderr.count("\n") == 1


def test_a_fault_is_told_before_slow_imports() -> None:
    """Run as a user would, with a wrong flag."""
    package = Path(launch.__file__).parent.parent
    fault = [sys.executable, "-X", "importtime", "-m", "trainyard.train", "--steps", "0"]
    process = subprocess.run(fault, cwd=package, capture_output=True, text=True, check=False)
    assert process.returncode == 2
    imported = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "trainyard.launch" in imported
    assert not imported & {"ray", "torch", "transformers"}
