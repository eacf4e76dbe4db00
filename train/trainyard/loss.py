"""Next-token cross-entropy that never holds the logits of a whole batch.

With a vocabulary of 152k words the logits are the largest tensor of a training
step: 16k tokens take 10 GB in fp32, and their gradient as much again. Here they
are made for a piece of the tokens at a time, and since the gradient of a piece
needs nothing else, it is made in the same pass and the logits are forgotten.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional

# Targets that are not predicted: the first token of the next document.
IGNORED = -100
# Tokens times vocabulary of a piece: 1.2 GB of logits in bf16.
PIECE = 2**22 * 150


def linear_cross_entropy(hidden: Tensor, weight: Tensor, targets: Tensor, scale: Tensor) -> Tensor:
    """scale times the summed cross-entropy, in nats, of softmax(hidden @ weight.T).

    hidden [tokens, width], weight [vocabulary, width] in the same type, targets
    [tokens] with IGNORED where nothing is predicted, scale a scalar. Returns a
    scalar in fp32.
    """
    if torch.is_grad_enabled():
        apply = cast(Any, _LinearCrossEntropy.apply)
        return cast(Tensor, apply(hidden, weight, targets, scale))
    loss = torch.zeros((), device=hidden.device)
    for piece, wanted in zip(*_pieces(weight, hidden, targets), strict=True):
        loss += functional.cross_entropy((piece @ weight.T).float(), wanted, reduction="sum")
    return loss * scale


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, scale: Tensor) -> Tensor:
        loss = torch.zeros((), device=hidden.device)
        hidden_gradient = torch.empty_like(hidden)
        # Sums over many pieces would lose bits in bf16.
        weight_gradient = torch.zeros(weight.shape, dtype=torch.float32, device=weight.device)
        gradient_of = _compiled_gradient() if hidden.is_cuda else logits_gradient
        parts = _pieces(weight, hidden, targets, hidden_gradient)
        for piece, wanted, out in zip(*parts, strict=True):
            piece_loss, gradient = gradient_of(piece @ weight.T, wanted, scale)
            loss += piece_loss
            torch.mm(gradient, weight, out=out)
            _accumulate(weight_gradient, gradient, piece)
        ctx.save_for_backward(hidden_gradient, weight_gradient.to(weight.dtype))
        return loss

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        (outer,) = outputs
        return hidden_gradient * outer, weight_gradient * outer, None, None


def _pieces(weight: Tensor, *tensors: Tensor) -> list[tuple[Tensor, ...]]:
    """Each tensor [tokens, ...] in pieces of as many tokens as PIECE allows."""
    rows = max(1, PIECE // weight.shape[0])
    return [torch.split(tensor, rows) for tensor in tensors]


def _accumulate(total: Tensor, gradient: Tensor, piece: Tensor) -> None:
    """total += gradient.T @ piece, summed in fp32."""
    if total.is_cuda and gradient.dtype != torch.float32:
        torch.addmm(total, gradient.T, piece, out_dtype=torch.float32, out=total)
    else:
        total.addmm_(gradient.T, piece)


def logits_gradient(logits: Tensor, targets: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """The scaled loss of logits [tokens, vocabulary], and its gradient in their type.

    The gradient is softmax minus one at the target: the derivative of
    logsumexp(logits) - logits[target].
    """
    exact = logits.float()
    total = exact.logsumexp(dim=1, keepdim=True)
    counted = targets != IGNORED
    wanted = targets.where(counted, 0).unsqueeze(1)
    loss = ((total - exact.gather(1, wanted)).squeeze(1) * counted).sum() * scale
    words = torch.arange(logits.shape[1], device=logits.device)
    gradient = (exact - total).exp() - (words == wanted).float()
    return loss, (gradient * (counted * scale).unsqueeze(1)).to(logits.dtype)


@functools.cache
def _compiled_gradient() -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    # Made when it is needed: what compiles takes seconds to import.
    return torch.compile(logits_gradient, dynamic=False)
