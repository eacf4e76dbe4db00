"""Filling a sharded model: random weights, or those of a Hugging Face model.

No rank ever holds the whole model: each makes one tensor at a time and keeps
its part, or reads its part from the safetensors files.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.checkpoint import state_dict_loader
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.tensor import DTensor, distribute_tensor

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
        if not list(module.children()) and [*module.parameters(), *module.buffers()]
    }


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
        read(model.net, _files(config.model, world), config.model)


def fill_random(model: LanguageModel, originals: Twins, seed: int, device: torch.device) -> None:
    """Initialize module by module as transformers does, each by a seed of its own.

    Buffers that no file holds, such as rotary frequencies, are made here too.
    """
    filled: set[int] = set()
    for name, original in originals.items():
        module = model.net.get_submodule(name)
        whole = original.to_empty(device=device)
        torch.manual_seed(seed + zlib.crc32(name.encode()))
        cast(Any, model.net)._init_weights(whole)
        for key, value in [*whole.named_parameters(), *whole.named_buffers()]:
            own = cast(Tensor, getattr(module, key))
            if id(own) not in filled:  # a tied tensor is filled once, as its first owner wants
                _copy(value.detach(), own)
                filled.add(id(own))
        original.to("meta")


@torch.no_grad()
def _copy(whole: Tensor, own: Tensor) -> None:
    """Copy the part of whole that this rank has of own."""
    if isinstance(own, DTensor):
        part = distribute_tensor(whole, own.device_mesh, own.placements, src_data_rank=None)
        own.to_local().copy_(part.to_local())
    else:
        own.copy_(whole)


def read(net: nn.Module, folder: Path, name: str) -> None:
    """Fill net from the safetensors files in a folder, each rank its own part.

    Raises ConfigError naming tensors that are missing or have another shape.
    """
    reader = HuggingFaceStorageReader(str(folder))
    stored = reader.read_metadata().state_dict_metadata
    state = {_name(key, net, stored): value for key, value in _state_to_read(net).items()}
    problems = [_mismatch(key, value, stored.get(key)) for key, value in state.items()]
    if problems := [problem for problem in problems if problem]:
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise ConfigError(
            f"the weights of {name!r} do not match its config: {', '.join(problems[:3])}{more}"
        )
    state_dict_loader.load(state, storage_reader=reader)


def _state_to_read(net: nn.Module) -> dict[str, Any]:
    """Tensors by the names that files use: a tied one has a single name there."""
    tied = getattr(net, "_tied_weights_keys", None) or {}
    ties = getattr(cast(Any, net).config, "tie_word_embeddings", False)
    return {key: value for key, value in net.state_dict().items() if not (ties and key in tied)}


def _name(key: str, net: nn.Module, stored: Mapping[str, object]) -> str:
    """A tensor's name in the files, which lacks the body's where the body alone was saved."""
    short = key.removeprefix(f"{getattr(net, 'base_model_prefix', '')}.")
    return short if short in stored else key


def _mismatch(key: str, wanted: Tensor, stored: object) -> str:
    if not isinstance(stored, TensorStorageMetadata):
        return f"{key} is missing"
    if stored.size != wanted.shape:
        return f"{key} is {list(stored.size)} and should be {list(wanted.shape)}"
    return ""


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
                path = snapshot_download(name, allow_patterns=["*.safetensors", "*.json"])
            except (OSError, HfHubHTTPError) as error:
                cause = str(error).strip().splitlines()[0]
        dist.barrier(device_ids=[world.device.index] if world.backend == "nccl" else None)
    if not path:
        raise ConfigError(f"downloading the weights of {name!r}: {cause}")
    return Path(path)
