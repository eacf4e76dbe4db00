"""The training run: `python -m trainyard.train --steps 200` starts it."""

# The driver stops at this line: it checks what was asked for before it imports
# PyTorch, which takes seconds. Workers import this module by its name and read
# on.
if __name__ == "__main__":
    from trainyard.launch import main

    raise SystemExit(main())

import zlib

import torch
import torch.distributed as dist
from torch import Tensor

from trainyard import model, optimizer, parallel, plan
from trainyard import weights as weight_files
from trainyard.checkpoint import export
from trainyard.checkpoint.checkpoints import Checkpoints
from trainyard.config import TrainConfig
from trainyard.data import datainfo
from trainyard.data.reader import Batch, Reader
from trainyard.loss import IGNORED
from trainyard.model import LanguageModel, Packing
from trainyard.parallel import LateScalar, World, distributed
from trainyard.report import failure
from trainyard.report.evidence import Evidence
from trainyard.report.metrics import Metrics
from trainyard.report.timeline import Timeline

EVAL_BATCHES = 16
# Tokens and targets [batch_size, seq_len], and how they are packed, on the device.
Input = tuple[Tensor, Tensor, Packing]


@failure.told
def train(config: TrainConfig) -> None:
    """Train on this rank until config.steps, then save. All ranks call this."""
    with distributed() as world:
        metrics = Metrics(config, world)
        metrics.rank()
        evidence = Evidence(config, world)

        # The model, spread as the plan says, each rank with its own part.
        net = model.build(config, world.device)
        chosen = plan.choose(config, net.size(), world.machines)
        originals = weight_files.twins(net)
        parallel.shard(net, chosen, config, world)
        weight_files.fill(net, originals, config, world)
        adamw = optimizer.build_optimizer(net, config)

        # Go on from the newest checkpoint, if there is one.
        checkpoints = Checkpoints(config, world, net, adamw)
        saved = checkpoints.load()
        first, position = (saved.step, saved.position) if saved else (0, None)
        metrics.start(net.size(), chosen, datainfo.describe(config), first)
        evidence.write(metrics, chosen.bytes_across_nodes)

        with Reader(config, world.rank, world.size, position) as reader:
            for step in range(first + 1, config.steps + 1):
                batches = [next(reader) for _ in range(config.accumulate)]
                metrics.timeline.mark("data")
                rate = optimizer.learning_rate(config, step)
                seed_dropout(config, step, world)
                with metrics.profiled(step):
                    scalars = train_step(
                        net, adamw, batches, rate, config.clip, world, metrics.timeline
                    )
                metrics.step(step, *scalars, rate)

                last = step == config.steps
                if is_due(step, config.eval_every, last):
                    metrics.evaluation(step, evaluate(net, config, world))
                if config.keep and (last or is_due(step, config.checkpoint_every, last)):
                    checkpoints.save(step, batches[-1].position)
                metrics.checkpoints(checkpoints.completed())
                metrics.broken_lines(step, reader)

        metrics.flush()
        checkpoints.finish()
        metrics.checkpoints(checkpoints.completed())
        if config.export:
            metrics.exported(export.save(net, config, world))
        evidence.write(metrics, chosen.bytes_across_nodes, config.steps - first)
        metrics.done()


def is_due(step: int, every: int, last: bool) -> bool:
    """Whether something that is done every so many steps, 0 being never, is due."""
    return every > 0 and (last or step % every == 0)


def seed_dropout(config: TrainConfig, step: int, world: World) -> None:
    """Draws of its own for each step and rank, which a resumed run has again."""
    torch.manual_seed(zlib.crc32(b"%d/%d/%d" % (config.seed, step, world.rank)))


def train_step(
    net: LanguageModel,
    adamw: torch.optim.Optimizer,
    batches: list[Batch],
    rate: float,
    clip: float,
    world: World,
    timeline: Timeline,
) -> tuple[LateScalar, LateScalar]:
    """One optimizer step on one or more batches; the mean loss of all tokens of all ranks.

    Returns it with the norm of the gradients; both can be read later.
    """
    inputs = [to_device(batch, world.device) for batch in batches]
    scale = world.size / predicted(inputs, world)
    loss = torch.zeros((), device=world.device)
    for number, (tokens, targets, packing) in enumerate(inputs, start=1):
        if len(inputs) > 1:
            parallel.synchronize_gradients(net, last=number == len(inputs))
        part = net(tokens, targets, scale, packing)
        torch.autograd.backward(part)  # averages the gradients over all ranks
        loss += part.detach() / world.size
    timeline.mark("forward_backward")
    norm = optimizer.gradient_norm(net)
    optimizer.step(adamw, norm, rate, clip)
    timeline.mark("optimizer")
    return LateScalar(loss), LateScalar(norm, reduce=False)


@torch.no_grad()
def evaluate(net: LanguageModel, config: TrainConfig, world: World) -> float:
    """The mean loss, in nats, over the first held-back tokens of all ranks."""
    net.eval()
    with Reader(config, world.rank, world.size, held_back=True) as reader:
        loss = torch.zeros(2, device=world.device)
        one = torch.ones((), device=world.device)
        for _ in range(EVAL_BATCHES):
            tokens, targets, packing = to_device(next(reader), world.device)
            loss[0] += net(tokens, targets, one, packing)
            loss[1] += (targets != IGNORED).sum()
    net.train()
    dist.all_reduce(loss)
    return float(loss[0] / loss[1])


def to_device(batch: Batch, device: torch.device) -> Input:
    """What a forward pass takes of a batch.

    The first token of the next document is no target: nothing foretells it.
    """
    rows = torch.from_numpy(batch.tokens)
    tokens, targets = rows[:, :-1], rows[:, 1:]
    if batch.documents is None:
        return moved(tokens, device), moved(targets, device), None
    owners = torch.from_numpy(batch.documents)
    targets = targets.where(owners[:, 1:] == owners[:, :-1], IGNORED)
    packing = model.packed(owners[:, :-1])
    on_device = {name: moved(part, device) for name, part in packing.items()}
    return moved(tokens, device), moved(targets, device), on_device


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy on the device, for which the host does not wait."""
    if device.type == "cpu":
        return tensor.contiguous()
    return tensor.contiguous().pin_memory().to(device, non_blocking=True)


def predicted(inputs: list[Input], world: World) -> Tensor:
    """How many tokens all ranks predict in a step: a scalar on their device."""
    if all(packing is None for _, _, packing in inputs):
        every = world.size * sum(targets.numel() for _, targets, _ in inputs)
        return torch.full((), float(every), device=world.device)
    count = torch.stack([(targets != IGNORED).sum() for _, targets, _ in inputs]).sum().float()
    dist.all_reduce(count)
    return count.clamp(min=1)
