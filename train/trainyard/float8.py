"""Matrix products in fp8: about twice as fast as in bf16 on GPUs that have it.

Each operand is scaled, as a whole, so that its largest element is the largest
that fp8 can hold: activations and weights in e4m3, which has more digits,
gradients in e5m2, which reaches further. Sums are kept in higher precision.
Source: Micikevicius et al., FP8 Formats for Deep Learning, arXiv 2209.05433.

Scaling costs as much as small products save, and what chooses among experts or
words should be exact, so only the large layers inside of blocks take part.
Compiled, scales and conversions become part of the kernels around them.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn

from trainyard.config import ConfigError, TrainConfig

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
SMALLEST = 1024  # of either side of a weight that is worth it
MULTIPLE = 16  # the kernels want every side to be one
TINY = 1e-30  # the largest element of a tensor of zeros, which has to have a scale too
CAPABILITY = (8, 9)  # of the first GPUs with fp8: Ada, then Hopper


class Float8Linear(nn.Linear):
    """A linear layer whose three products, one forward and two backward, are in fp8."""

    def forward(self, vectors: Tensor) -> Tensor:
        product = cast(Any, _Product.apply)(vectors.flatten(0, -2), self.weight)
        output = cast(Tensor, product).view(*vectors.shape[:-1], self.out_features)
        return output + self.bias if isinstance(self.bias, Tensor) else output


def convert(layers: list[nn.Module], config: TrainConfig, device: torch.device) -> None:
    """Make fp8 layers of the large linear ones, in place; parameters and names stay.

    Raises ConfigError where that cannot be done.
    """
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < CAPABILITY:
        raise ConfigError(
            f"--precision fp8: {torch.cuda.get_device_name(device)} has no fp8: take bf16"
        )
    if (tokens := config.batch_size * config.seq_len) % MULTIPLE:
        raise ConfigError(
            f"--precision fp8 needs a multiple of {MULTIPLE} tokens a batch, not {tokens}: "
            f"change --batch-size or --seq-len"
        )
    large = [part for layer in layers for part in layer.modules() if _is_large(part)]
    if not large:
        raise ConfigError(
            f"--precision fp8: no block of the model has an nn.Linear of {SMALLEST} x {SMALLEST} "
            "or more: take bf16"
        )
    for part in large:
        part.__class__ = Float8Linear


def _is_large(module: nn.Module) -> bool:
    if type(module) is not nn.Linear:
        return False
    sides = (module.in_features, module.out_features)
    return min(sides) >= SMALLEST and not any(side % MULTIPLE for side in sides)


class _Product(torch.autograd.Function):
    """Vectors [tokens, in] times the transpose of weight [out, in]: [tokens, out]."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, weight: Tensor) -> Tensor:
        rows, row_scale = scaled(vectors, E4M3)
        matrix, matrix_scale = scaled(weight, E4M3)
        ctx.save_for_backward(rows, row_scale, matrix, matrix_scale)
        ctx.weight_dtype = weight.dtype
        return _multiply(rows, row_scale, matrix.T, matrix_scale, vectors.dtype, fast=True)

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, Tensor]:
        (output,) = outputs
        rows, row_scale, matrix, matrix_scale = ctx.saved_tensors
        gradient, scale = scaled(output, E5M2)
        return (
            _multiply(gradient, scale, _by_columns(matrix), matrix_scale, output.dtype),
            _multiply(
                gradient.T.contiguous(), scale, _by_columns(rows), row_scale, ctx.weight_dtype
            ),
        )


def scaled(tensor: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """A tensor in fp8, and the fp32 scalar that it has to be multiplied by.

    One with an element that is not finite becomes NaN, and is noticed as before.
    """
    largest = tensor.abs().amax().float().clamp(min=TINY)
    scale = largest / torch.finfo(dtype).max
    return (tensor.float() / scale).to(dtype), scale


def _by_columns(matrix: Tensor) -> Tensor:
    """The same matrix with its columns one after the other in memory, as the kernel wants it."""
    return matrix.T.contiguous().T


def _multiply(
    left: Tensor,
    left_scale: Tensor,
    right: Tensor,
    right_scale: Tensor,
    dtype: torch.dtype,
    fast: bool = False,
) -> Tensor:
    """left @ right; fast sums with fewer bits, which gradients would feel."""
    # Not functional.scaled_mm, which cuts the compiled layer in two (PyTorch 2.11).
    return torch._scaled_mm(
        left,
        right,
        scale_a=left_scale,
        scale_b=right_scale,
        out_dtype=dtype,
        use_fast_accum=fast,
    )
