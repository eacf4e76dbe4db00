"""A trained model as Hugging Face saves one, for AutoModelForCausalLM.from_pretrained.

Weights are gathered one tensor at a time and written by the first rank, which holds
one file of them in memory. They are named and shaped as save_pretrained would: experts
that are one tensor in the module are matrices of their own. config.json comes last and
goes first: a folder without it is no model.
"""

from __future__ import annotations

import contextlib
import copy
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed as dist
from huggingface_hub import StateDictSplit, split_torch_state_dict_into_shards
from safetensors.torch import save as to_bytes
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from trainyard import conversion
from trainyard.checkpoint import storage
from trainyard.config import BYTES, ConfigError, TrainConfig, is_hook
from trainyard.conversion import Conversion, Shape
from trainyard.model import LanguageModel
from trainyard.parallel import World
from trainyard.presets import PRESETS

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
FILE_SIZE = 2_000_000_000  # bytes; a larger tensor has a file of its own


@torch.no_grad()
def save(model: LanguageModel, config: TrainConfig, world: World) -> str:
    """Write model and tokenizer to config.export, and return that. All ranks call this.

    Tensors are as trained, in fp32; tied ones are written once. Of a module that
    has no transformers configuration, the weights are all that is written.
    Raises ConfigError, on all ranks, if the files cannot be written.
    """
    place = cast(str, config.export)
    tensors = _tensors(model.net)
    steps = conversion.saving(model.net, tensors)
    files = _files(steps, tensors)
    with _led(world, place) as leads:
        if leads:
            _clear(place)
    waiting = {name: set(keys) for name, keys in files.filename_to_tensors.items()}
    ready: dict[str, Tensor] = {}  # on the first rank, until they are written
    for step, made in steps.items():
        sources = {key: _gathered(tensors[key], world) for key in step.source_names}
        if world.rank == 0:
            ready |= step(model.net, cast("dict[str, Tensor]", sources))
        for name in _completed(waiting, made):
            with _led(world, place) as leads:
                if leads:
                    wholes = {key: ready.pop(key) for key in files.filename_to_tensors[name]}
                    _write(storage.join(place, name), wholes)
    with _led(world, place) as leads:
        if leads:
            _write_rest(place, model.net, files, config)
    return place


def _tensors(net: nn.Module) -> dict[str, Tensor]:
    """What state_dict holds, each tensor by the first of its names."""
    named: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in net.state_dict(keep_vars=True).items():
        named.setdefault(id(tensor), (name, tensor))
    return dict(named.values())


def _files(
    steps: Mapping[Conversion, Mapping[str, Shape]], tensors: Mapping[str, Tensor]
) -> StateDictSplit:
    """Which tensor goes to which file, by sizes alone."""
    sizes = {
        name: torch.empty(shape, dtype=tensors[step.source_names[0]].dtype, device="meta")
        for step, made in steps.items()
        for name, shape in made.items()
    }
    return split_torch_state_dict_into_shards(sizes, max_shard_size=FILE_SIZE)


def _completed(waiting: dict[str, set[str]], made: Iterable[str]) -> list[str]:
    """The files that wait for nothing more, now that these are made; they wait no longer."""
    for keys in waiting.values():
        keys.difference_update(made)
    complete = [name for name, keys in waiting.items() if not keys]
    for name in complete:
        del waiting[name]
    return complete


def _write(uri: str, wholes: dict[str, Tensor]) -> None:
    parts = {key: whole.contiguous() for key, whole in wholes.items()}
    storage.write_bytes(uri, to_bytes(parts, metadata={"format": "pt"}))


def _gathered(tensor: Tensor, world: World) -> Tensor | None:
    """The whole tensor in host memory, on the first rank alone."""
    whole = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return whole.detach().cpu().contiguous() if world.rank == 0 else None


def _clear(place: str) -> None:
    storage.make_dir(place)
    storage.delete(storage.join(place, CONFIG))
    for name in storage.listdir(place) if storage.exists(place) else ():
        if name == INDEX or (name.startswith("model") and name.endswith(".safetensors")):
            storage.delete(storage.join(place, name))


def _write_rest(place: str, net: nn.Module, files: StateDictSplit, config: TrainConfig) -> None:
    """Index and tokenizer, then the model's configuration."""
    if files.is_sharded:
        index = {"metadata": files.metadata, "weight_map": files.tensor_to_filename}
        storage.write_bytes(storage.join(place, INDEX), json.dumps(index, indent=1).encode())
    if not hasattr(getattr(net, "config", None), "save_pretrained"):
        sys.stderr.write(
            f"trainyard.train: exporting weights only: {config.model} has no configuration "
            "of transformers\n"
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        _save_about(cast(Any, net), config, folder)
        for file in _last(Path(folder).iterdir()):
            storage.write_bytes(storage.join(place, file.name), file.read_bytes())


def _save_about(net: Any, config: TrainConfig, folder: str) -> None:
    about = copy.deepcopy(net.config)
    about.architectures = [type(net).__name__]
    about.dtype = next(net.parameters()).dtype
    about.use_cache = True  # off only in training
    about.save_pretrained(folder)
    if net.can_generate():
        net.generation_config.save_pretrained(folder)
    if tokenizer := _tokenizer(config):
        from transformers import AutoTokenizer

        AutoTokenizer.from_pretrained(tokenizer).save_pretrained(folder)


def _tokenizer(config: TrainConfig) -> str | None:
    """The name of the one that the model was trained with; None: bytes, or unknown."""
    if config.tokenizer:
        return None if config.tokenizer == BYTES else config.tokenizer
    return None if config.model in PRESETS or is_hook(config.model) else config.model


def _last(files: Iterable[Path]) -> list[Path]:
    return sorted(files, key=lambda file: (file.name == CONFIG, file.name))


@contextlib.contextmanager
def _led(world: World, place: str) -> Iterator[bool]:
    """What only the first rank does; its error is raised on all ranks, which wait here."""
    outcome: list[ConfigError | None] = [None]
    try:
        with storage.explained("exporting the model to", place):
            yield world.rank == 0
    except ConfigError as error:
        outcome = [error]
    dist.broadcast_object_list(outcome, src=0)
    if outcome[0] is not None:
        raise outcome[0]
