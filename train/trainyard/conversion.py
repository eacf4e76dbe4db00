"""Tensors of files and those of modules, which transformers converts into each other.

When it loads a model, transformers renames tensors and fuses, splits or transposes
some: the matrices of all experts become one. When it saves a model it goes back.
Which and how is in transformers' own mapping; here it is done one result at a time.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import (
    Concatenate,
    MergeModulelist,
    PrefixChange,
    WeightConverter,
    WeightRenaming,
    dot_natural_key,
    rename_source_key,
)

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Conversion:
    """What makes tensors of other ones: by operations of transformers, or by a name alone."""

    name: str  # of the first tensor that is made
    sources: dict[str, list[str]]  # names, by the pattern of the converter that they match
    converter: Any = None  # a WeightConverter; None: one tensor that changes its name at most
    renamings: Sequence[Any] = ()  # WeightRenaming, of what the converter makes

    @property
    def source_names(self) -> list[str]:
        return [name for names in self.sources.values() for name in names]

    def __call__(self, net: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Tensors by their new names. Raises whatever the operations raise."""
        if self.converter is None:
            return {self.name: tensors[self.source_names[0]]}
        once = copy.deepcopy(self.converter)  # it collects what it converts
        for pattern, names in self.sources.items():
            for name in names:
                once.add_tensor(self.name, name, pattern, tensors[name])
        made = once.convert(self.name, model=net, config=cast(Any, net).config)
        return {
            _renamed(name, self.renamings): tensor[0] if isinstance(tensor, list) else tensor
            for name, tensor in made.items()
        }

    def shapes(self, net: nn.Module, sources: Mapping[str, Shape]) -> dict[str, Shape]:
        """What __call__ would make of tensors of these shapes. Takes no memory."""
        empty = {
            name: torch.empty(sources[name], dtype=torch.bfloat16, device="meta")
            for name in self.source_names
        }
        return {name: tuple(tensor.shape) for name, tensor in self(net, empty).items()}

    @property
    def is_by_rows(self) -> bool:
        """Whether the n-th row of the one result is made of each pattern's n-th source alone."""
        if self.converter is None or len(self.converter.target_patterns) != 1:
            return False
        first, *rest = self.converter.operations
        return (
            type(first) is MergeModulelist
            and first.dim == 0
            and all(type(operation) is Concatenate and operation.dim > 0 for operation in rest)
        )

    def of_rows(self, rows: slice) -> Conversion:
        """What makes some of the rows, where is_by_rows."""
        some = {pattern: names[rows] for pattern, names in self.sources.items()}
        return dataclasses.replace(self, sources=some)


def loading(
    net: nn.Module, wanted: Mapping[str, Tensor], stored: Iterable[str]
) -> list[Conversion]:
    """What makes the wanted tensors of a module from stored ones, as from_pretrained would."""
    mapping = get_model_conversion_mapping(net)
    renamings, by_pattern = _kinds(mapping)
    prefix = cast(Any, net).base_model_prefix
    found: dict[str, Conversion] = {}
    for key in sorted(stored, key=dot_natural_key):
        name, pattern = rename_source_key(key, renamings, _once(by_pattern), prefix, wanted)
        if name not in wanted and key in wanted:
            name, pattern = key, None  # its name is as it should be before it is changed
        if name in wanted:
            converter = by_pattern[pattern] if pattern else None
            conversion = found.setdefault(name, Conversion(name, {}, converter))
            if (conversion.converter is None) == (pattern is None):
                conversion.sources.setdefault(pattern or key, []).append(key)
    return list(found.values())


def saving(net: nn.Module, tensors: Mapping[str, Tensor]) -> dict[Conversion, dict[str, Shape]]:
    """What makes the tensors of files from a module's, as its save_pretrained would.

    Those of modules that are not transformers' keep their names, as do those that
    cannot be converted back; from_pretrained takes them so, too.
    """
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    made: dict[Conversion, dict[str, Shape]] = {}
    for step in _reverse(net, tensors):
        try:
            made[step] = step.shapes(net, shapes)
        except Exception:  # of any kind: theirs
            kept = [Conversion(name, {name: [name]}) for name in step.source_names]
            made |= {same: {same.name: shapes[same.name]} for same in kept}
    return made


def _reverse(net: nn.Module, names: Iterable[str]) -> Iterable[Conversion]:
    mapping = get_model_conversion_mapping(net, add_legacy=False) if _is_theirs(net) else []
    # Only what is read from files that have a prefix is to have one again.
    mapping = [step for step in mapping if not isinstance(step, PrefixChange)]
    try:
        renamings, by_pattern = _kinds([step.reverse_transform() for step in reversed(mapping)])
    except (NotImplementedError, ValueError):  # some operation goes one way only
        renamings, by_pattern = [], {}
    found: dict[str, Conversion] = {}
    for key in sorted(names, key=dot_natural_key):
        matches = (converter.rename_source_key(key) for converter in _once(by_pattern))
        name, pattern = next((match for match in matches if match[1]), (key, None))
        if pattern:
            step = Conversion(name, {}, by_pattern[pattern], renamings)
        else:
            step = Conversion(_renamed(key, renamings), {})
        found.setdefault(step.name, step).sources.setdefault(pattern or key, []).append(key)
    return found.values()


def _is_theirs(net: nn.Module) -> bool:
    return hasattr(net, "base_model_prefix")


def _once(by_pattern: Mapping[str, Any]) -> list[Any]:
    return list(dict.fromkeys(by_pattern.values()))


def _kinds(mapping: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The renamings of a mapping, and its converters by their sources' patterns."""
    return (
        [step for step in mapping if isinstance(step, WeightRenaming)],
        {
            pattern: step
            for step in mapping
            if isinstance(step, WeightConverter)
            for pattern in step.source_patterns
        },
    )


def _renamed(name: str, renamings: Sequence[Any]) -> str:
    for renaming in renamings:
        name, _ = renaming.rename_source_key(name)
    return name
