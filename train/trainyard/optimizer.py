"""AdamW, the learning rate of a step, and what is done to gradients before it."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from trainyard.config import TrainConfig

DECAY = 0.2  # the last part of a wsd schedule, in which the rate falls to zero
FLOOR = 0.1  # of the highest rate, where a cosine schedule ends


class ShardedAdamW(torch.optim.AdamW):
    """AdamW on what this rank has of each tensor, which is all that its formula needs.

    The state stays sharded tensors, for checkpoints; only the kernel is called
    with plain ones. Unwrapping each inside of the call costs the host 10 ms a
    step at 340 tensors.
    """

    def _init_group(self, group: Any, *tensors: list[Any]) -> bool:
        is_complex = cast(Any, super())._init_group(group, *tensors)
        for found in tensors:
            found[:] = [one.to_local() if isinstance(one, DTensor) else one for one in found]
        return bool(is_complex)


def build_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """AdamW in one kernel for all parameters; norms and biases do not decay."""
    matrices = [weight for weight in model.parameters() if weight.dim() > 1]
    vectors = [weight for weight in model.parameters() if weight.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return ShardedAdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=(0.9, 0.95),
        fused=True,
    )


def learning_rate(config: TrainConfig, step: int) -> float:
    """The rate of a step, counted from 1: linear warm-up, then the schedule.

    cosine falls to FLOOR of the highest rate at the last step; wsd (warm-up,
    stable, decay) is constant and falls linearly in the last part of the run.
    """
    if step < config.warmup_steps:
        return config.learning_rate * step / config.warmup_steps
    progress = (step - config.warmup_steps) / max(1, config.steps - config.warmup_steps)
    if config.schedule == "cosine":
        share = FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * progress)) / 2
    elif config.schedule == "wsd":
        share = min(1.0, (1 - progress) / DECAY + 1 / config.steps)
    else:
        share = 1.0
    return config.learning_rate * share


def gradient_norm(model: nn.Module) -> Tensor:
    """The L2 norm of all gradients of all ranks, a scalar on the device.

    Each rank adds up what it holds of them; the ranks that hold one copy of the
    model together sum that.
    """
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    whole = [grad for grad in gradients if not isinstance(grad, DTensor)]
    parts = [grad.to_local() for grad in gradients if isinstance(grad, DTensor)]
    square = torch.zeros((), device=gradients[0].device)
    if parts:
        mesh = next(grad for grad in gradients if isinstance(grad, DTensor)).device_mesh
        square += torch.nn.utils.get_total_norm(parts).square()
        if mesh.size(mesh.ndim - 1) > 1:
            dist.all_reduce(square, group=mesh.get_group(mesh.ndim - 1))
    if whole:
        square += torch.nn.utils.get_total_norm(whole).square()
    return square.sqrt()


def step(optimizer: torch.optim.Optimizer, norm: Tensor, rate: float, clip: float) -> None:
    """Update the weights, with gradients scaled down to a norm of clip (0: any).

    A norm that is not finite leaves weights and moments as they are. Both are
    decided on the device, by what the fused kernel takes from a gradient scaler:
    the host does not wait for the norm.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.found_inf = (~norm.isfinite()).float()  # type: ignore[attr-defined]
    if clip:
        optimizer.grad_scale = (norm / clip).clamp(min=1.0)  # type: ignore[attr-defined]
    optimizer.step()
    optimizer.zero_grad()
