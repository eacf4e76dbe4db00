"""The driver: checks what was asked for and starts the workers of a Ray cluster.

Under torchrun there is no driver: each of its processes is a rank and trains.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trainyard import config as configuration
from trainyard.config import FAILED, USAGE, ConfigError, TrainConfig


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        config = configuration.parse(sys.argv[1:] if argv is None else argv)
        if {"RANK", "WORLD_SIZE"} <= os.environ.keys():
            return train_here(config)
        return drive(config)
    except ConfigError as error:
        sys.stderr.write(f"trainyard.train: {error}\n")
        return USAGE


def train_here(config: TrainConfig) -> int:
    """Train as one of torchrun's ranks, which tell of their errors themselves."""
    import torch.distributed as dist

    from trainyard.parallel import distributed
    from trainyard.report import evidence
    from trainyard.report.failure import RunError
    from trainyard.train import train

    if not config.json_metrics and "://" not in config.checkpoint_dir:
        evidence.log_to(Path(config.checkpoint_dir) / "nccl")
    with distributed() as world:
        # The first rank's, whose default folder bears the time of its clock.
        agreed: list[TrainConfig | None] = [config]
        if world.rank == 0:
            try:
                check(config)
            except ConfigError as error:
                sys.stderr.write(f"trainyard.train: {error}\n")
                agreed = [None]
        dist.broadcast_object_list(agreed, src=0)
        if agreed[0] is None:
            return USAGE
        # Out of the block by an exception: others may be in a collective still.
        try:
            train(agreed[0])
        except ConfigError:
            raise SystemExit(USAGE) from None
        except RunError as error:
            if error.kind == "peer":
                # Python would first wait for the checkpoint under way, and with it for
                # ranks that may be waiting for this one to be gone.
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(FAILED)
            raise SystemExit(FAILED) from None
    return 0


def drive(config: TrainConfig) -> int:
    """Train on a Ray cluster: RAY_ADDRESS's, else the one running here, else a new one.

    Raises ConfigError, before any worker starts, for what the user can put right.
    """
    check(config)

    # Here and not above: a second of imports that a wrong flag need not wait for.
    import ray

    from trainyard import cluster
    from trainyard.data import datainfo

    ray.init()
    nodes = [node for node in ray.nodes() if node["Alive"]]
    sized, resource = size_workers(config, [node["Resources"] for node in nodes])
    if config.data != configuration.RANDOM:
        datainfo.describe(sized)  # again: enough for as many workers?
    cluster.tune({node["NodeManagerAddress"] for node in nodes})
    return cluster.fit(sized, resource, elastic=config.num_workers == 0)


def check(config: TrainConfig) -> None:
    """Raises ConfigError, naming all problems, for models, data or places that cannot be used."""
    from trainyard import hook, hub
    from trainyard.data import datainfo
    from trainyard.report import trackers

    problems: list[str] = []

    def noted(look: Callable[[], object]) -> bool:
        try:
            look()
        except ConfigError as error:
            problems.append(str(error))
            return False
        return True

    if configuration.is_hook(config.model):
        noted(lambda: hook.find(config.model))
    data: list[str] = []
    if noted(lambda: hub.check(config)):
        noted(lambda: data.append(datainfo.describe(config).fingerprint))
    noted(trackers.check)
    writable = noted(lambda: check_place("--checkpoint-dir", config.checkpoint_dir))
    if data and writable:
        noted(lambda: check_resume(config, data[0]))
    if config.export:
        noted(lambda: check_place("--export", str(config.export)))
    if problems:
        raise ConfigError("; ".join(problems))


def check_resume(config: TrainConfig, data: str) -> None:
    """Raises ConfigError if the checkpoint that workers will go on from does not fit.

    It is the newest in --checkpoint-dir, else --resume; data is the fingerprint of
    the run's data.
    """
    from trainyard.checkpoint import manifest

    found = manifest.complete(config.checkpoint_dir)[:1]
    if not found and config.resume:
        found = [manifest.find(config.resume)]
    for folder in found:
        try:
            saved = manifest.read(folder)
        except manifest.DamagedError:
            continue  # the workers look for an older one
        manifest.check(saved, config, data)
        if saved.step == config.steps and not config.export:
            raise ConfigError(
                f"{folder!r} is at step {saved.step} already: give --steps a larger number to go on"
            )


def check_place(flag: str, place: str) -> None:
    """Raises ConfigError if nothing can be written there, rather than after hours."""
    from trainyard.checkpoint import storage

    with storage.explained(f"writing to {flag}", place):
        storage.make_dir(place)
        probe = storage.join(place, f".probe-{secrets.token_hex(4)}")
        storage.write_bytes(probe, b"trainyard looks whether it may write here\n")
        storage.delete(probe)


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
