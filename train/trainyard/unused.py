"""Gradients of zero for weights that a rank left unused, such as experts without a token.

Ranks sum their gradients block by block, and FSDP sends those there are: where one
rank has fewer than another, sums are of other weights, or wait for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

Owned = list[tuple[nn.Module, str]]  # a weight, by where to find it: FSDP replaces it


def give_gradients(model: nn.Module, blocks: Sequence[nn.Module]) -> None:
    """Whenever a block runs, all its weights get a gradient; the others when the model runs.

    Before FSDP's own hooks, which take gathered weights away. All ranks must run
    the same blocks.
    """
    inside = {module for block in blocks for module in block.modules()}
    for block in blocks:
        _hook(block, _owned(list(block.modules())))
    _hook(model, _owned([module for module in model.modules() if module not in inside]))


def _owned(modules: Sequence[nn.Module]) -> Owned:
    return [(module, name) for module in modules for name in module._parameters]


def _hook(module: nn.Module, owned: Owned) -> None:
    def use(_: nn.Module, __: Any, output: Any) -> Any:
        weights = [getattr(owner, name) for owner, name in owned]
        trained = [weight for weight in weights if weight is not None and weight.requires_grad]
        leaves, shape = tree_flatten(output)
        for index, leaf in enumerate(leaves):
            if isinstance(leaf, Tensor) and leaf.requires_grad:
                leaves[index] = cast(Any, _Use.apply)(leaf, *trained)
                return tree_unflatten(leaves, shape)
        return output

    module.register_forward_hook(use)


class _Use(torch.autograd.Function):
    """The value as it is; in the backward pass, zeros for the weights."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, *weights: Tensor) -> Tensor:
        ctx.zeros = [
            torch.zeros((), dtype=w.dtype, device=w.device).expand(w.shape) for w in weights
        ]
        return value.clone()  # not a view, which must not be changed in place

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, ...]:
        return outputs[0], *ctx.zeros
