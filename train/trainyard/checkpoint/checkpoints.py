"""Saving the state of a run while it goes on, and going on from it.

Every rank saves its own part (torch.distributed.checkpoint): it is copied to host
memory, and a thread writes it while training goes on. A checkpoint can be loaded by
any number of ranks and in any parallel mode, because tensors are named as the model
names them and placed by their global shapes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch.distributed.checkpoint import state_dict_loader, state_dict_saver
from torch.distributed.checkpoint._nested_dict import flatten_state_dict, unflatten_state_dict
from torch.distributed.checkpoint._state_dict_stager import StateDictStager
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.staging import BlockingAsyncStager
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.tensor import DTensor

from trainyard.checkpoint import manifest, shards, storage
from trainyard.checkpoint.manifest import DamagedError, Manifest
from trainyard.config import ConfigError, TrainConfig
from trainyard.data import datainfo
from trainyard.model import LanguageModel
from trainyard.parallel import World
from trainyard.report.failure import RunError

# A rank waits this long for one that is slower to write.
PATIENCE = timedelta(hours=1)

Value = TypeVar("Value")


class Checkpoints:
    """Those of one run. All ranks call the same methods in the same order."""

    def __init__(
        self,
        config: TrainConfig,
        world: World,
        net: LanguageModel,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        self._config, self._world, self._net, self._optimizer = config, world, net, optimizer
        # A group of its own, so that its collectives never mix with training's.
        self._group = dist.new_group(backend="gloo", timeout=PATIENCE)
        self._stager = _Stager(world.device)
        self._pending: Future[Any] | None = None
        self._completed: list[tuple[str, int, float]] = []
        self._model = describe(net)
        self._data = self._led(lambda: datainfo.describe(config).fingerprint)

    def load(self) -> Manifest | None:
        """Fill model and optimizer from the newest checkpoint; None if there is none.

        The run's own checkpoints come before --resume. Of them, one that is
        damaged is passed over for an older one. Raises ConfigError for one of
        another run, and for damage that nothing older makes up for.
        """
        own = self._led(lambda: manifest.complete(self._config.checkpoint_dir))
        found = own
        if not own and self._config.resume:
            found = [self._led(lambda: manifest.find(cast(str, self._config.resume)))]
        for number, folder in enumerate(found):
            try:
                saved = self._led(functools.partial(self._checked, folder))
                self._agree(functools.partial(self._verify, folder, saved))
            except DamagedError as damage:
                if number + 1 == len(found):
                    raise
                if self._world.rank == 0:
                    sys.stderr.write(f"trainyard.train: {damage}: going on from an older one\n")
                continue
            self._restore(folder)
            return saved
        return None

    def save(self, step: int, position: Mapping[str, Any]) -> None:
        """Begin to save; training may go on when this returns.

        position is where this rank's reader is. Waits for the save before, and
        raises what went wrong with it.
        """
        self.finish()
        began = time.perf_counter()
        folder = storage.join(self._config.checkpoint_dir, manifest.folder_name(step))
        about = Manifest(
            step=step,
            position=dict(position),
            world_size=self._world.size,
            config=self._config.to_dict(),
            data=self._data,
            model=self._model,
            files={},
        )
        state, _ = flatten_state_dict(self._state())
        self._pending = cast(
            "Future[Any]",
            state_dict_saver.async_save(
                _share(state, self._world),
                storage_writer=shards.Writer(folder, about, self._config.keep),
                async_stager=self._stager,
                process_group=self._group,
            ),
        )

        def note(done: Future[Any]) -> None:
            if not done.cancelled() and done.exception() is None:
                self._completed.append((folder, step, time.perf_counter() - began))

        self._pending.add_done_callback(note)

    def finish(self) -> None:
        """Wait for the save under way. Raises ConfigError, on all ranks, if it failed on any."""
        pending, self._pending = self._pending, None
        if pending:
            with _explained("saving a checkpoint in", self._config.checkpoint_dir):
                pending.result()

    def completed(self) -> list[tuple[str, int, float]]:
        """The checkpoints completed since the last call: folder, step, seconds it took."""
        done, self._completed = self._completed, []
        return done

    def _checked(self, folder: str) -> Manifest:
        saved = manifest.read(folder)
        manifest.check(saved, self._config, self._data, self._model)
        return saved

    def _verify(self, folder: str, saved: Manifest) -> None:
        mine = sorted(saved.files.items())[self._world.rank :: self._world.size]
        shards.verify(folder, dict(mine))

    def _restore(self, folder: str) -> None:
        state, paths = flatten_state_dict(self._state())
        decays = [group["weight_decay"] for group in self._optimizer.param_groups]
        with _explained("loading the checkpoint", folder):
            reader = shards.Reader(folder)
            stored = reader.read_metadata().state_dict_metadata
            state_dict_loader.load(
                {name: value for name, value in state.items() if name in stored},
                storage_reader=reader,
                process_group=self._group,
            )
        for name, value in state.items():
            if name not in stored and isinstance(value, torch.Tensor):
                value.zero_()  # moments of a weight that never had a gradient
        nested = unflatten_state_dict(state, paths)
        set_state_dict(
            self._net,
            self._optimizer,
            model_state_dict=nested["model"],
            optim_state_dict=nested["optimizer"],
        )
        for group, decay in zip(self._optimizer.param_groups, decays, strict=True):
            group["weight_decay"] = decay  # as this run was asked for

    def _state(self) -> dict[str, Any]:
        model, optimizer = get_state_dict(self._net, self._optimizer)
        return {"model": model, "optimizer": optimizer}

    def _led(self, function: Callable[[], Value]) -> Value:
        """What the function gives on the first rank, or its error, on all ranks."""
        outcome: list[Any] = [_outcome(function) if self._world.rank == 0 else None]
        dist.broadcast_object_list(outcome, src=0, group=self._group)
        return cast(Value, _first_error_or(outcome))

    def _agree(self, function: Callable[[], None]) -> None:
        """Run the function on every rank; raise the first rank's error on all."""
        outcomes: list[Any] = [None] * self._world.size
        dist.all_gather_object(outcomes, _outcome(function), group=self._group)
        _first_error_or(outcomes)


def describe(net: LanguageModel) -> dict[str, Any]:
    """What tells a model from another: its name, and the names and shapes of its weights."""
    shapes = sorted((name, tuple(weight.shape)) for name, weight in net.state_dict().items())
    return {
        "name": net.name,
        "parameters": sum(weight.numel() for weight in net.parameters()),
        "shapes": hashlib.sha256(repr(shapes).encode()).hexdigest()[:16],
    }


class _Stager(BlockingAsyncStager):
    """Copies to host memory, pinned for a GPU, that is kept from one save to the next.

    DefaultStager would do, but that PyTorch 2.11 lets go of its memory every time.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._gpu = device.type == "cuda"
        self._copies = StateDictStager(pin_memory=self._gpu, share_memory=False)

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        copy = self._copies.stage(state_dict, non_blocking=self._gpu)
        if self._gpu:
            torch.cuda.synchronize()
        return cast("dict[str, Any]", copy)


def _share(state: dict[str, Any], world: World) -> dict[str, Any]:
    """The entries that this rank saves: of those that several ranks hold, each saves a part."""
    return {
        name: value
        for number, (name, value) in enumerate(sorted(state.items()))
        if _owns(number, value, world)
    }


def _owns(number: int, value: Any, world: World) -> bool:
    """Deals out copies: a sharded tensor has one per group that holds all of it."""
    if not isinstance(value, DTensor):
        return number % world.size == world.rank
    replica, replicas = 0, 1
    coordinate = value.device_mesh.get_coordinate() or ()
    for dimension, placement in enumerate(value.placements):
        if placement.is_replicate():
            size = value.device_mesh.size(dimension)
            replica = replica * size + coordinate[dimension]
            replicas *= size
    return number % replicas == replica


def _outcome(function: Callable[[], Value]) -> tuple[Value | None, ConfigError | None]:
    try:
        return function(), None
    except ConfigError as error:
        return None, error


def _first_error_or(outcomes: list[Any]) -> Any:
    """The first value; raises the first error, if there is one."""
    for _, error in outcomes:
        if error is not None:
            raise error
    return outcomes[0][0]


@contextlib.contextmanager
def _explained(doing: str, place: str) -> Iterator[None]:
    """Turns what ranks met while reading and writing into one error, the same on all."""
    try:
        yield
    except CheckpointException as error:
        rank, (cause, _) = min(error.failures.items())
        if isinstance(cause, ConfigError):
            raise cause from error
        if isinstance(cause, OSError):
            raise storage.problem(doing, place, cause) from error
        text = (str(cause).splitlines() or [""])[0]
        raise RunError(f"{doing} {place!r}: {type(cause).__name__}: {text}", rank) from error
