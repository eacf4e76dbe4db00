"""The training run: `python -m trainyard.train --steps 200` starts it."""

# The driver stops at this line: it checks what was asked for before it imports
# PyTorch, which takes seconds. Workers import this module by its name and read
# on.
if __name__ == "__main__":
    from trainyard.launch import main

    raise SystemExit(main())

import time
from pathlib import Path

import torch
from torch import Tensor, nn

from trainyard import checkpoint, data, model
from trainyard.config import TrainConfig
from trainyard.manifest import Manifest
from trainyard.metrics import Metrics
from trainyard.parallel import LateScalar, distributed, shard

WARMUP_STEPS = 20


def train(config: TrainConfig) -> None:
    """Train on this rank until config.steps, then save. All ranks call this."""
    with distributed() as world:
        metrics = Metrics(config, world)
        metrics.rank()

        tokens = data.load(config.data)
        windows = data.Windows(tokens, config.seq_len, config.seed)
        net = model.build(config.shape, config.seed, world.device)
        parameters = model.parameter_count(net)
        shard(net, net.model.layers, world)
        optimizer = model.build_optimizer(net, config.learning_rate)

        first, position = 0, 0
        if config.resume:
            saved = checkpoint.load(Path(config.resume), net, optimizer)
            first, position = saved.step, saved.position
        metrics.start(parameters, len(tokens))

        for step in range(first + 1, config.steps + 1):
            mine = position + world.rank * config.batch_size
            batch = torch.from_numpy(windows.batch(mine, config.batch_size))
            position += world.size * config.batch_size
            rate = learning_rate(config, step)
            loss = train_step(net, optimizer, batch.to(world.device, non_blocking=True), rate)
            metrics.step(step, LateScalar(loss), rate)
        metrics.flush()

        began = time.perf_counter()
        about = Manifest(config.steps, position, len(tokens), config.to_dict())
        path = checkpoint.save(Path(config.checkpoint_dir), net, optimizer, about)
        metrics.checkpoint(path, config.steps, time.perf_counter() - began)
        metrics.done()


def train_step(
    net: nn.Module, optimizer: torch.optim.Optimizer, batch: Tensor, rate: float
) -> Tensor:
    """One optimizer step on a batch [batch_size, seq_len + 1]; the loss of this rank."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    loss = model.next_token_loss(net, batch)
    torch.autograd.backward(loss)  # averages the gradients over all ranks
    optimizer.step()
    optimizer.zero_grad()
    return loss


def learning_rate(config: TrainConfig, step: int) -> float:
    """Linear warm-up, then constant. Steps count from 1."""
    return config.learning_rate * min(1.0, step / WARMUP_STEPS)
