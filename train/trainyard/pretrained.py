"""Reading a Hugging Face model's safetensors files into a sharded module.

Tensors that are in the files as the module has them are read in parts, by
PyTorch's distributed checkpoints. Those that transformers converts are made one at a
time from what is in the files; of experts, each rank reads those that it has.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.distributed.checkpoint import state_dict_loader
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
from torch.distributed.tensor import DTensor

from trainyard import conversion
from trainyard.config import ConfigError
from trainyard.conversion import Conversion, Shape

FLOATS = {"F64", "F32", "F16", "BF16"}


class Files:
    """The tensors of a folder's safetensors files, by name; reads the headers alone."""

    def __init__(self, folder: Path, opened: contextlib.ExitStack) -> None:
        self._file: dict[str, Any] = {}
        self.shapes: dict[str, Shape] = {}
        self.dtypes: dict[str, str] = {}
        for path in sorted(folder.glob("*.safetensors")):
            file = opened.enter_context(cast(Any, safe_open)(path, framework="pt"))
            names: list[str] = file.keys()  # it is no mapping
            for name in names:
                stored = file.get_slice(name)
                self._file[name] = file
                self.shapes[name] = tuple(stored.get_shape())
                self.dtypes[name] = stored.get_dtype()

    def read(self, name: str) -> Tensor:
        return cast(Tensor, self._file[name].get_tensor(name))


@torch.no_grad()
def read(net: nn.Module, folder: Path, name: str) -> None:
    """Fill net from the safetensors files in a folder, each rank its own part.

    Raises ConfigError naming tensors that are missing or have another shape, and
    for weights that are quantized.
    """
    _refuse_quantized(net, name)
    with contextlib.ExitStack() as opened:
        files = Files(folder, opened)
        wanted = net.state_dict(keep_vars=True)
        sources = _sources(net, wanted, files, name)
        kept = {
            source.source_names[0]: wanted[key].detach()
            for key, source in sources.items()
            if source.converter is None
        }
        state_dict_loader.load(kept, storage_reader=HuggingFaceStorageReader(str(folder)))
        converted = [source for source in sources.values() if source.converter is not None]
        for source in {id(source): source for source in converted}.values():
            targets = {key: wanted[key] for key in sources if sources[key] is source}
            _convert(source, net, targets, files)


def _convert(source: Conversion, net: nn.Module, targets: dict[str, Tensor], files: Files) -> None:
    """Make whole tensors, or of experts this rank's, and keep this rank's part of each."""
    first = next(iter(targets.values()))
    skipped = 0  # rows before those that are made
    if source.is_by_rows:
        rows = _part(first)[0]
        source, skipped = source.of_rows(rows), rows.start
    if not source.source_names:
        return  # there are more ranks than experts
    tensors = {name: files.read(name).to(first.device) for name in source.source_names}
    made = source(net, tensors)
    for key, own in targets.items():
        rows, *rest = _part(own)
        part = (slice(rows.start - skipped, rows.stop - skipped), *rest)
        local = own.to_local() if isinstance(own, DTensor) else own
        local.copy_(made[key][part])


def _part(own: Tensor) -> list[slice]:
    """Which part of the whole tensor this rank has, in each dimension."""
    if not isinstance(own, DTensor):
        return [slice(0, size) for size in own.shape]
    (chunk,) = cast(Any, own).__create_chunk_list__()  # what distributed checkpoints ask, too
    return [
        slice(begin, begin + size) for begin, size in zip(chunk.offsets, chunk.sizes, strict=True)
    ]


def _sources(
    net: nn.Module, wanted: Mapping[str, Tensor], files: Files, name: str
) -> dict[str, Conversion]:
    """What makes each tensor, by one of its names: one that is tied has several.

    Raises ConfigError if the files lack something, or it does not fit.
    """
    found: dict[str, Conversion] = {}
    faults: dict[str, str] = {}
    failures: dict[str, str] = {}
    for source in conversion.loading(net, wanted, files.shapes):
        try:
            shapes = source.shapes(net, files.shapes)
        except Exception as error:  # of any kind: theirs, for tensors that do not go together
            failures[source.name] = f"of {source.source_names[0]}: {_first_line(error)}"
            continue
        for key in shapes.keys() & wanted.keys():
            found[key] = source
            if shapes[key] != wanted[key].shape:
                is_, should = list(shapes[key]), list(wanted[key].shape)
                faults[key] = f"{key} is {is_} and should be {should}"
            elif wanted[key].is_floating_point():
                _refuse_integers(source, files, name)
    names: dict[int, list[str]] = {}
    for key, tensor in wanted.items():
        names.setdefault(id(tensor), []).append(key)
    chosen = [next((key for key in tied if key in found), tied[0]) for tied in names.values()]
    for key in chosen:
        if key not in found and not _may_be_absent(key, net):
            faults[key] = f"{key} is missing"
    if problems := _lacking(
        net, wanted, {key: faults[key] for key in chosen if key in faults}, files
    ):
        for key in failures.keys() & problems.keys():
            if problems[key] == faults[key]:  # nothing is missing
                raise ConfigError(
                    f"the weights of {name!r} cannot be used: transformers cannot make {key} "
                    f"{failures[key]}"
                )
        lines = list(problems.values())
        more = f" and {len(lines) - 3} more" if len(lines) > 3 else ""
        raise ConfigError(
            f"the weights of {name!r} do not match its config: {', '.join(lines[:3])}{more}"
        )
    return {key: found[key] for key in chosen if key in found}


def _lacking(
    net: nn.Module, wanted: Mapping[str, Tensor], faults: dict[str, str], files: Files
) -> dict[str, str]:
    """The faults, where files have a part of a tensor by what they lack of it."""
    prefix = f"{cast(Any, net).base_model_prefix}."
    problems = dict(faults)
    for step, parts in (conversion.saving(net, wanted) if faults else {}).items():
        missing = [
            part for part in parts if not {part, part.removeprefix(prefix)} & files.shapes.keys()
        ]
        for key in problems.keys() & step.source_names:
            if 0 < len(missing) < len(parts):
                problems[key] = ", ".join(f"{part} is missing" for part in missing)
    return problems


def _may_be_absent(key: str, net: nn.Module) -> bool:
    patterns = getattr(net, "_keys_to_ignore_on_load_missing", None) or ()
    return any(re.search(pattern, key) for pattern in patterns)


def _refuse_quantized(net: nn.Module, name: str) -> None:
    about = getattr(cast(Any, net).config, "quantization_config", None)
    if about is not None:
        about = about if isinstance(about, dict) else about.to_dict()
        raise _quantized(name, str(about.get("quant_method", "in some way")))


def _refuse_integers(source: Conversion, files: Files, name: str) -> None:
    for key in source.source_names:
        if files.dtypes[key] not in FLOATS:
            raise _quantized(name, f"{key} is {files.dtypes[key]}")


def _quantized(name: str, how: str) -> ConfigError:
    return ConfigError(
        f"the weights of {name!r} are quantized ({how}), which cannot be trained: name a model "
        "in bf16, or have transformers dequantize this one and save_pretrained it"
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
