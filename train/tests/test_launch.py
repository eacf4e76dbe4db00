"""The driver, up to where it would start workers."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest
from conftest import PROCESSES, Settings, free_port
from test_storage import denied

from trainyard import launch, train
from trainyard.checkpoint.manifest import Manifest
from trainyard.config import FAILED, ConfigError, TrainConfig
from trainyard.data import datainfo
from trainyard.report.failure import RunError

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--steps", "0"], "--steps must be at least 1, not 0"),
        (["--data", "/nowhere/text"], "the data '/nowhere/text' does not exist"),
        (["--resume", "/nowhere"], "no complete checkpoint in '/nowhere'"),
        (
            ["--checkpoint-dir", "/dev/null/x"],
            "writing to --checkpoint-dir '/dev/null/x': not found: a part of the path is a file",
        ),
        (["--export", "/dev/null/x"], "writing to --export '/dev/null/x': "),
        (["--checkpoint-dir", "ftp://x"], "unknown kind of place 'ftp://x'"),
    ],
)
def test_user_fault_is_one_line_and_exit_2(
    arguments: list[str], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert launch.main(["--checkpoint-dir", str(tmp_path), *arguments]) == 2
    stdout, stderr = capfd.readouterr()
    assert stdout == ""
    assert stderr.startswith(f"trainyard.train: {message}")
    assert stderr.count("\n") == 1


def test_all_problems_at_once(settings: Settings) -> None:
    config = settings("--data", "/nowhere/text", "--export", "/dev/null/x")
    with pytest.raises(ConfigError, match=r"/nowhere/text.*; writing to --export '/dev/null/x'"):
        launch.check(config)


def test_the_place_is_left_as_it_was(settings: Settings) -> None:
    config = settings()
    launch.check(config)
    assert list(Path(config.checkpoint_dir).iterdir()) == []


def test_s3_denied(settings: Settings, s3: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    config = settings("--checkpoint-dir", "s3://bucket/run")
    launch.check(config)
    with denied(s3), pytest.raises(ConfigError, match="'s3://bucket/run': access denied"):
        launch.check(config)


def test_resume(settings: Settings) -> None:
    """The driver knows before workers start whether they can go on."""
    config = settings("--steps", "20")
    data = datainfo.describe(config).fingerprint
    folder = Path(config.checkpoint_dir, "step-000010")
    folder.mkdir(parents=True)
    Manifest(10, {}, 1, config.to_dict(), data, {}, {}).write(str(folder))
    launch.check(config)
    with pytest.raises(ConfigError, match="is of another run: seed was 42 and is 1"):
        launch.check(replace(config, seed=1))
    with pytest.raises(ConfigError, match="is at step 10 already: give --steps a larger number"):
        launch.check(replace(config, steps=10))
    launch.check(replace(config, steps=10, export=config.checkpoint_dir + "-model"))
    # --resume counts where the run has no checkpoints of its own.
    elsewhere = replace(config, checkpoint_dir=config.checkpoint_dir + "-2", seed=1)
    launch.check(elsewhere)
    with pytest.raises(ConfigError, match="is of another run"):
        launch.check(replace(elsewhere, resume=config.checkpoint_dir))


def test_a_fault_is_told_before_slow_imports() -> None:
    """Run as a user would, with a wrong flag."""
    package = Path(launch.__file__).parents[1]
    fault = [sys.executable, "-X", "importtime", "-m", "trainyard.train", "--steps", "0"]
    process = subprocess.run(fault, cwd=package, capture_output=True, text=True, check=False)
    assert process.returncode == 2
    imported = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "trainyard.launch" in imported
    assert not imported & {"ray", "torch", "transformers", "pyarrow"}


def lose_a_peer(config: TrainConfig) -> None:
    """A rank that learns of a lost peer while it saves a checkpoint, which waits for that one."""
    Thread(target=Event().wait).start()
    raise RunError("another rank is gone", kind="peer")


def as_last_rank(config: TrainConfig, port: int) -> None:
    os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    train.train = lose_a_peer
    launch.train_here(config)


def test_a_rank_without_peers_ends(settings: Settings) -> None:
    config = settings("--data", "random", "--eval-every", "0")
    rank = PROCESSES.Process(target=as_last_rank, args=(config, free_port()))
    rank.start()
    rank.join(60)
    rank.kill()
    assert rank.exitcode == FAILED
