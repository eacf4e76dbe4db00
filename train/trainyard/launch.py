"""The driver: checks what was asked for and starts the workers of a Ray cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainyard import config as configuration
from trainyard import data, manifest
from trainyard.config import ConfigError, TrainConfig

USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        config = configuration.parse(sys.argv[1:] if argv is None else argv)
        fit(config)
    except ConfigError as error:
        sys.stderr.write(f"trainyard.train: {error}\n")
        return USAGE
    return 0


def fit(config: TrainConfig) -> None:
    """Train on a Ray cluster: RAY_ADDRESS's, else the one running here, else a new one.

    Raises ConfigError, before any worker starts, for what the user can put right.
    """
    data_bytes = len(data.load(config.data))
    config = find_resume(config, data_bytes)
    make_checkpoint_dir(config)

    # Here and not above: a second of imports that a wrong flag need not wait for.
    import ray

    ray.init()
    nodes = [node for node in ray.nodes() if node["Alive"]]
    config, resource = size_workers(config, [node["Resources"] for node in nodes])
    check_data(config, data_bytes)
    tune_ray({node["NodeManagerAddress"] for node in nodes})

    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    TorchTrainer(
        worker,
        train_loop_config=config.to_dict(),
        scaling_config=ScalingConfig(
            num_workers=config.num_workers,
            use_gpu=resource == "GPU",
            resources_per_worker={resource: 1},
        ),
        run_config=RunConfig(
            name="ray",
            storage_path=config.checkpoint_dir,
            failure_config=FailureConfig(max_failures=config.max_failures),
        ),
    ).fit()


def worker(settings: dict[str, Any]) -> None:
    """What Ray Train calls on each worker."""
    from trainyard.train import train

    train(TrainConfig(**settings))


def find_resume(config: TrainConfig, data_bytes: int) -> TrainConfig:
    """Replace a folder of checkpoints by the newest one, checked to fit this run."""
    if config.resume is None:
        return config
    folder = manifest.find(Path(config.resume))
    manifest.check(manifest.read(folder), config, data_bytes)
    return replace(config, resume=str(folder))


def make_checkpoint_dir(config: TrainConfig) -> None:
    """Raises ConfigError if it cannot be made, rather than after the training."""
    try:
        Path(config.checkpoint_dir).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"making --checkpoint-dir {config.checkpoint_dir!r}: {error.strerror}"
        ) from error


def size_workers(
    config: TrainConfig, nodes: Sequence[Mapping[str, float]]
) -> tuple[TrainConfig, str]:
    """Settle the number of workers, given the resources of each node of the cluster.

    Returns with it the resource of which each worker takes one, GPU or CPU.
    Raises ConfigError for a number that the cluster does not have, for which
    Ray would wait.
    """
    counts = {name: sum(int(node.get(name, 0)) for node in nodes) for name in ("GPU", "CPU")}
    resource = "GPU" if counts["GPU"] else "CPU"
    has = counts[resource]
    if not has:
        raise ConfigError("the cluster has neither GPUs nor CPUs for workers")
    if config.num_workers > has:
        raise ConfigError(
            f"--num-workers {config.num_workers} is more than the cluster has: {has} {resource}s"
        )
    return replace(config, num_workers=config.num_workers or has), resource


def check_data(config: TrainConfig, data_bytes: int) -> None:
    """Raises ConfigError if the data is too short for one step."""
    windows = data.window_count(data_bytes, config.seq_len)
    if not windows:
        raise ConfigError(f"--seq-len {config.seq_len} is longer than the data: {data_bytes} bytes")
    needed = config.num_workers * config.batch_size
    if windows < needed:
        raise ConfigError(
            f"the data has {windows} windows of {config.seq_len} tokens, and one step of "
            f"{config.num_workers} workers x {config.batch_size} needs {needed}"
        )


def tune_ray(hosts: Set[str]) -> None:
    """Set what Ray Train only takes from the environment, where the user has not.

    hosts are the addresses of the cluster's nodes.
    """
    # How often Ray looks whether workers are done or dead: its 2 s are a good
    # part of a short run.
    os.environ.setdefault("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.5")
    # On a single host no node is taken away in advance, and the actor that
    # would watch for it costs as much to start as a worker.
    if len(hosts) == 1:
        os.environ.setdefault("RAY_TRAIN_ENABLE_PREEMPTION_WATCHER", "0")
