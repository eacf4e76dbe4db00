"""A checkpoint is complete or it is none, whatever happens while it is saved."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from conftest import PROCESSES, RunRanks, Settings, as_rank, free_port, join
from torch.distributed.tensor import DTensor

from trainyard import model, optimizer, parallel, weights
from trainyard.checkpoint import manifest, shards, storage
from trainyard.checkpoint.checkpoints import Checkpoints, describe
from trainyard.config import ConfigError, TrainConfig
from trainyard.plan import Plan


@contextlib.contextmanager
def run(config: TrainConfig, group: int = 1) -> Iterator[tuple[Checkpoints, Any, Any]]:
    """A run of the tiny model, sharded over groups of ranks, that has taken a step."""
    with parallel.distributed() as world:
        net = model.build(config, world.device)
        originals = weights.twins(net)
        parallel.shard(net, Plan("test", group, False, False, "", 0, 0), config, world)
        weights.fill(net, originals, config, world)
        adamw = optimizer.build_optimizer(net, config)
        yield Checkpoints(config, world, net, adamw), net, adamw


def take_step(net: Any, adamw: Any, seed: int) -> None:
    rows = torch.randint(0, 256, (2, 17), generator=torch.Generator().manual_seed(seed))
    torch.autograd.backward(net(rows[:, :-1], rows[:, 1:], torch.tensor(1e-3)))
    optimizer.step(adamw, optimizer.gradient_norm(net), 1e-3, 1.0)


def state(net: Any, adamw: Any) -> str:
    """A hash of all weights and moments, however they are spread."""
    tensors = [*net.parameters()]
    for weight in tensors[:]:
        tensors += [adamw.state[weight][name] for name in ("exp_avg", "exp_avg_sq", "step")]
    digest = hashlib.sha256()
    for tensor in tensors:
        whole = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
        digest.update(whole.detach().numpy().tobytes())
    return digest.hexdigest()


def position(rank: int, size: int) -> dict[str, Any]:
    return {"lanes": size, "cursors": {str(rank): {"rows": 7 + rank}}}


def save(config: TrainConfig, group: int, steps: list[int], environ: dict[str, str]) -> list[str]:
    """Save after each of some steps; the state at each, on all ranks the same."""
    os.environ.update(environ)
    seen = []
    with run(config, group) as (checkpoints, net, adamw):
        world = checkpoints._world
        for step in steps:
            take_step(net, adamw, step)
            seen.append(state(net, adamw))
            checkpoints.save(step, position(world.rank, world.size))
            take_step(net, adamw, 99)  # while it is being saved
        checkpoints.finish()
        completed = checkpoints.completed()
        assert [(place, step) for place, step, _ in completed] == [
            (f"{config.checkpoint_dir}/step-{step:06d}", step) for step in steps
        ]
        assert checkpoints.completed() == []
    return seen


def load(config: TrainConfig, group: int, environ: dict[str, str]) -> tuple[Any, str]:
    """The step and position that a run goes on from, or the error, and its state."""
    os.environ.update(environ)
    with run(config, group) as (checkpoints, net, adamw):
        try:
            saved = checkpoints.load()
        except ConfigError as error:
            return str(error), ""
        return saved and (saved.step, saved.position), state(net, adamw)


def test_round_trip(settings: Settings, run_ranks: RunRanks) -> None:
    """By other ranks, in other modes, and over a folder of another run's leftovers."""
    config = settings("--keep", "2")
    directory = Path(config.checkpoint_dir)
    (directory / "step-000002").mkdir(parents=True)
    (directory / "step-000002" / "__0_0.distcp").write_text("killed")

    hashes = run_ranks(2, save, config, 2, [1, 3, 4], {})
    assert hashes[0] == hashes[1]
    # Neither the leftover, nor more than asked for.
    assert sorted(path.name for path in directory.iterdir()) == ["step-000003", "step-000004"]

    merged = {"lanes": 2, "cursors": {"0": {"rows": 7}, "1": {"rows": 8}}}
    for told in run_ranks(4, load, config, 2, {}):  # hsdp
        assert told == ((4, merged), hashes[0][-1])

    # ddp: each rank has written a part of what all of them hold.
    again = replace(config, checkpoint_dir=config.checkpoint_dir + "-2")
    expected = run_ranks(2, save, again, 1, [1], {})[0][0]
    sizes = [path.stat().st_size for path in Path(again.checkpoint_dir).glob("*/*.distcp")]
    assert len(sizes) == 2
    assert max(sizes) < 2 * min(sizes)
    assert run_ranks(1, load, again, 1, {})[0][1] == expected


def test_damage(settings: Settings, run_ranks: RunRanks) -> None:
    config = settings()
    older, _ = run_ranks(1, save, config, 1, [1, 2], {})[0]
    folder = Path(config.checkpoint_dir, "step-000002")
    file = folder / "__0_0.distcp"
    whole = file.read_bytes()
    middle = len(whole) // 2
    bad = "is damaged: its checksum is"
    file.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])

    # A run that goes on by itself takes the older one; one that was asked for this does not.
    assert run_ranks(2, load, config, 2, {})[1] == ((1, position(0, 1)), older)
    asked = replace(config, resume=str(folder), checkpoint_dir=config.checkpoint_dir + "-2")
    assert run_ranks(1, load, asked, 1, {})[0][0].startswith(f"{str(file)!r} {bad}")

    file.write_bytes(whole[:middle])
    with pytest.raises(ConfigError, match=f"is damaged: it has {middle} bytes instead of"):
        shards.verify(str(folder), manifest.read(str(folder)).files)
    file.unlink()
    with pytest.raises(ConfigError, match="is missing from a checkpoint"):
        shards.verify(str(folder), manifest.read(str(folder)).files)


def test_describe(settings: Settings) -> None:
    """Models are told apart by shapes that no rank needs memory for."""
    with torch.device("meta"):
        tiny, again = (model.build(settings(), torch.device("cpu")) for _ in range(2))
        other = model.build(settings("--model", "qwen2.5-0.5b"), torch.device("cpu"))
    about = describe(tiny)
    assert about == describe(again)
    assert (about["name"], about["parameters"]) == ("tiny", 1_706_240)
    assert about["shapes"] != describe(other)["shapes"]


def no_space(config: TrainConfig) -> list[str]:
    """What each rank reads when one of them cannot write, and then can."""
    with run(config, 2) as (checkpoints, net, adamw):
        world = checkpoints._world
        take_step(net, adamw, 0)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        if world.rank == 1:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
        told = []
        checkpoints.save(1, position(world.rank, world.size))
        try:
            checkpoints.save(2, {})
        except ConfigError as error:
            told.append(str(error))
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        told.append(str(manifest.complete(config.checkpoint_dir)))
        checkpoints.save(3, position(world.rank, world.size))
        checkpoints.finish()
        return told


def test_no_space(settings: Settings, run_ranks: RunRanks) -> None:
    config = settings()
    for error, then in run_ranks(2, no_space, config):
        assert error.startswith(f"saving a checkpoint in {config.checkpoint_dir!r}: file too large")
        assert then == "[]"
    assert [path.name for path in Path(config.checkpoint_dir).iterdir()] == ["step-000003"]


# Where a save is killed: a function, and at which of its calls.
MOMENTS: dict[str, tuple[Any, str, int]] = {
    "before it begins": (shards.Writer, "prepare_global_plan", 1),
    "a file is half written": (shards._Summed, "write", 40),
    "the manifest is missing": (manifest.Manifest, "write", 1),
    "the manifest lacks its name": (Path, "replace", 1),
    "old ones are deleted": (shards, "prune", 1),
    "an old one has lost its manifest": (storage, "delete", 4),
}


def killed_save(config: TrainConfig, moment: str, first: Path, environ: dict[str, str]) -> None:
    """Save once and note the state, then be killed while saving again."""
    os.environ.update(environ)
    with run(config) as (checkpoints, net, adamw):
        take_step(net, adamw, 1)
        checkpoints.save(1, position(0, 1))
        checkpoints.finish()
        first.write_text(state(net, adamw))

        owner, name, calls = MOMENTS[moment]
        original, left = getattr(owner, name), [calls]

        def die_in_time(*arguments: Any, **named: Any) -> Any:
            left[0] -= 1
            return original(*arguments, **named) if left[0] else die()

        setattr(owner, name, die_in_time)
        take_step(net, adamw, 2)
        checkpoints.save(2, position(0, 1))
        checkpoints.finish()


def go_on(config: TrainConfig, group: int, environ: dict[str, str]) -> tuple[int, str]:
    """The step and state that a run goes on from; it saves once more."""
    os.environ.update(environ)
    with run(config, group) as (checkpoints, net, adamw):
        saved = checkpoints.load()
        assert saved
        found = saved.step, state(net, adamw)
        take_step(net, adamw, 3)
        checkpoints.save(3, position(checkpoints._world.rank, checkpoints._world.size))
        checkpoints.finish()
        return found


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def kill_in(config: TrainConfig, moment: str, folder: Path, environ: dict[str, str]) -> str:
    """The state that was saved before."""
    first = folder / "first"
    arguments = (config, moment, first, environ)
    process = PROCESSES.Process(
        target=as_rank, args=(0, 1, free_port(), folder / "result", killed_save, arguments)
    )
    process.start()
    join(process)
    assert process.exitcode == -signal.SIGKILL
    return first.read_text()


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_save(moment: str, settings: Settings, run_ranks: RunRanks, tmp_path: Path) -> None:
    config = settings("--keep", "1")
    first = kill_in(config, moment, tmp_path, {})
    done = moment in ("old ones are deleted", "an old one has lost its manifest")
    found = manifest.complete(config.checkpoint_dir)
    assert found[0] == f"{config.checkpoint_dir}/step-00000{2 if done else 1}"
    for folder in found:
        shards.verify(folder, manifest.read(folder).files)

    step, state_then = run_ranks(1, go_on, config, 1, {})[0]
    assert step == (2 if done else 1)
    assert done == (state_then != first)
    # What was left is not in the way of the next.
    assert [path.name for path in Path(config.checkpoint_dir).iterdir()] == ["step-000003"]


def test_s3(
    settings: Settings,
    run_ranks: RunRanks,
    s3: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    config = settings("--keep", "1", "--checkpoint-dir", f"s3://bucket/{tmp_path.name}")
    # In the middle of an upload.
    first = kill_in(config, "a file is half written", tmp_path, s3)
    assert run_ranks(2, go_on, config, 2, s3) == [(1, first)] * 2
    assert storage.listdir(config.checkpoint_dir) == ["step-000003"]

    absent = replace(config, checkpoint_dir="s3://absent/run")
    for text in run_ranks(2, failing_save, absent, s3):
        assert text.startswith("saving a checkpoint in 's3://absent/run': no such bucket: ")


def failing_save(config: TrainConfig, environ: dict[str, str]) -> str:
    os.environ.update(environ)
    with run(config, 2) as (checkpoints, net, adamw):
        take_step(net, adamw, 0)
        checkpoints.save(1, position(checkpoints._world.rank, 2))
        with pytest.raises(ConfigError) as caught:
            checkpoints.finish()
        return str(caught.value)


def never_used(config: TrainConfig) -> tuple[float, list[float]]:
    """Of a run that went on: the updates of a weight that had no gradient, and the decays."""
    with run(config) as (checkpoints, net, adamw):
        rows = torch.randint(0, 256, (2, 17))
        torch.autograd.backward(net(rows[:, :-1], rows[:, 1:], torch.tensor(1e-3)))
        net.net.lm_head.weight.grad = None
        optimizer.step(adamw, optimizer.gradient_norm(net), 1e-3, 1.0)
        checkpoints.save(1, position(0, 1))
        checkpoints.finish()
    with run(replace(config, weight_decay=0.25)) as (checkpoints, net, adamw):
        assert checkpoints.load()
        updates = float(adamw.state[net.net.lm_head.weight]["step"])
        return updates, [group["weight_decay"] for group in adamw.param_groups]


def test_weights_without_gradients_and_other_settings(
    settings: Settings, run_ranks: RunRanks
) -> None:
    assert run_ranks(1, never_used, settings()) == [(0.0, [0.25, 0.0])]
