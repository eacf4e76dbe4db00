"""Filling a sharded model: random weights, or those of a Hugging Face model.

No rank ever holds the whole model: each makes one tensor at a time and keeps
its part, or reads its part from the safetensors files (pretrained.py).
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from trainyard import pretrained
from trainyard.config import ConfigError, TrainConfig, is_hook
from trainyard.model import LanguageModel
from trainyard.parallel import World
from trainyard.presets import PRESETS

Twins = dict[str, nn.Module]


def twins(model: LanguageModel) -> Twins:
    """Copies, without memory, of all modules that own tensors; taken before sharding."""
    return {
        name: copy.deepcopy(module)
        for name, module in model.net.named_modules()
        if any(True for _ in _own(module))
    }


def _own(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Tensors that are a module's, and not of one inside of it."""
    yield from module.named_parameters(recurse=False)
    yield from module.named_buffers(recurse=False)


def fill(model: LanguageModel, originals: Twins, config: TrainConfig, world: World) -> None:
    """Give a model on the meta device its weights, the same for any number of ranks.

    Raises ConfigError for files that do not hold the model.
    """
    if is_hook(config.model):
        return
    model.to_empty(device=world.device)
    cast(Any, model.net).tie_weights()
    fill_random(model, originals, config.seed, world.device)
    if config.model not in PRESETS:
        pretrained.read(model.net, _files(config.model, world), config.model)


def fill_random(model: LanguageModel, originals: Twins, seed: int, device: torch.device) -> None:
    """Initialize module by module as transformers does, each by a seed of its own.

    Buffers that no file holds, such as rotary frequencies, are made here too.
    """
    filled: set[int] = set()
    for name, original in originals.items():
        module = model.net.get_submodule(name)
        whole = original.to_empty(device=device, recurse=False)
        torch.manual_seed(seed + zlib.crc32(name.encode()))
        _part_of(model.net, name)._init_weights(whole)
        for key, value in _own(whole):
            own = cast(Tensor, getattr(module, key))
            if id(own) not in filled:  # a tied tensor is filled once, as its first owner wants
                _copy(value.detach(), own)
                filled.add(id(own))
        original.to("meta")


def _part_of(net: nn.Module, name: str) -> Any:
    """The innermost model of transformers around a module: each initializes what is in it."""
    found, module = net, net
    for key in name.split(".") if name else ():
        module = module.get_submodule(key)
        found = module if hasattr(module, "_init_weights") else found
    return found


@torch.no_grad()
def _copy(whole: Tensor, own: Tensor) -> None:
    """Copy the part of whole that this rank has of own."""
    if isinstance(own, DTensor):
        part = distribute_tensor(whole, own.device_mesh, own.placements, src_data_rank=None)
        own.to_local().copy_(part.to_local())
    else:
        own.copy_(whole)


def _files(name: str, world: World) -> Path:
    """The folder of a model's safetensors files, downloaded once a node."""
    folder = Path(name) if Path(name).is_dir() else _download(name, world)
    if not list(folder.glob("*.safetensors")):
        raise ConfigError(f"{name!r} has no weights in safetensors files")
    return folder


def _download(name: str, world: World) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    path, cause = "", ""
    for turn in (True, False):  # one rank of each node fetches, then all find it there
        if (world.local_rank == 0) == turn:
            try:
                path = snapshot_download(
                    name,
                    allow_patterns=["*.safetensors", "*.json"],
                    ignore_patterns=["*/*", "consolidated*"],  # the same weights once more
                )
            except (OSError, HfHubHTTPError) as error:
                cause = str(error).strip().splitlines()[0]
        dist.barrier(device_ids=[world.device.index] if world.backend == "nccl" else None)
    if not path:
        raise ConfigError(f"downloading the weights of {name!r}: {cause}")
    return Path(path)
