"""A save that is killed leaves nothing that looks like a checkpoint."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any, NoReturn

import pytest
from conftest import PROCESSES, RunRanks, as_rank, free_port, join
from torch.distributed.checkpoint import state_dict_saver

from trainyard import checkpoint, manifest, model, parallel
from trainyard.config import PRESETS, ConfigError
from trainyard.manifest import Manifest

MOMENTS = {
    "shards are being written": (state_dict_saver, "save"),
    "the manifest is missing": (Manifest, "write"),
    "only the name is missing": (checkpoint, "_replace"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_save(moment: str, tmp_path: Path, run_ranks: RunRanks) -> None:
    directory = tmp_path / "run"
    arguments = (0, 1, free_port(), tmp_path / "result", save, (directory, 1, moment))
    process = PROCESSES.Process(target=as_rank, args=arguments)
    process.start()
    join(process)
    assert process.exitcode == -signal.SIGKILL
    assert (directory / "step-000001.partial").is_dir()
    with pytest.raises(ConfigError, match="no complete checkpoint"):
        manifest.find(directory)

    # What is left of it is not in the way of the next save, nor of one more.
    for _ in range(2):
        run_ranks(1, save, directory, 1)
        assert manifest.find(directory) == directory / "step-000001"
        assert [path.name for path in directory.iterdir()] == ["step-000001"]


def save(directory: Path, step: int, dies_when: str | None = None) -> None:
    if dies_when:
        owner, name = MOMENTS[dies_when]
        setattr(owner, name, die)
    with parallel.distributed() as world:
        net = model.build(PRESETS["tiny"], 0, world.device)
        parallel.shard(net, net.model.layers, world)
        optimizer = model.build_optimizer(net, 1e-3)
        checkpoint.save(directory, net, optimizer, Manifest(step, 0, 0, {}))


def die(*_: Any, **__: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")
