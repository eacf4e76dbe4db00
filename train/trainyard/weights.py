"""Filling a sharded model: random weights, or those of a Hugging Face model.

No rank ever holds the whole model: each makes one tensor at a time and keeps
its part, or reads its part from the safetensors files (pretrained.py).
"""

from __future__ import annotations

import copy
import zlib
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

Twins = nn.Module | None


def twins(model: LanguageModel) -> Twins:
    """A copy of the model, without memory, taken before sharding; None of one that has weights."""
    is_empty = any(parameter.is_meta for parameter in model.parameters())
    return copy.deepcopy(model.net) if is_empty else None


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
    """Initialize module by module as transformers does, each by a seed of its own."""
    twin = cast(nn.Module, originals)
    filled: set[int] = set()
    for name, module in model.net.named_modules():
        parameters = dict(module.named_parameters(recurse=False))
        if not parameters:
            continue
        whole = twin.get_submodule(name).to_empty(device=device, recurse=False)
        torch.manual_seed(seed + zlib.crc32(name.encode()))
        _part_of(model.net, name)._init_weights(whole)
        for key, own in parameters.items():
            if id(own) not in filled:  # a tied tensor is filled once, as its first owner wants
                _copy(whole.get_parameter(key).detach(), own)
                filled.add(id(own))
        whole.to("meta")
    torch.manual_seed(seed)
    _fill_buffers(model.net, twin, device)


def _part_of(net: nn.Module, name: str) -> Any:
    """The innermost model of transformers around a module: each initializes what is in it."""
    found, module = net, net
    for key in name.split(".") if name else ():
        module = module.get_submodule(key)
        found = module if hasattr(module, "_init_weights") else found
    return found


def _fill_buffers(net: nn.Module, twin: nn.Module, device: torch.device) -> None:
    """Make what no file may hold, such as rotary frequencies, all at once: some are
    made by a module far above. Parameters stay without memory.
    """
    for module in twin.modules():
        module.__dict__.pop("_is_hf_initialized", None)  # as it was, when it had no memory
        for key, buffer in module.named_buffers(recurse=False):
            setattr(module, key, torch.empty_like(buffer, device=device))
    cast(Any, twin).initialize_weights()
    made = dict(twin.named_buffers())
    for key, own in net.named_buffers():
        own.copy_(made[key])


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
