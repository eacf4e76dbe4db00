"""The two recipes that are compared, each as something that makes one step after the other."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy
from transformers import Qwen2ForCausalLM

from trainyard import config as configuration
from trainyard import model, optimizer, parallel, plan, train, weights
from trainyard.config import TrainConfig
from trainyard.data.reader import Reader
from trainyard.parallel import World
from trainyard.presets import PRESETS
from trainyard.report.timeline import Timeline

WRAPPED = 10_000_000  # parameters from which the reference recipe shards a module by itself


@dataclass(frozen=True)
class Shape:
    """What a rank trains on in a step."""

    batch_size: int
    seq_len: int

    @property
    def tokens(self) -> int:
        return self.batch_size * self.seq_len

    def __str__(self) -> str:
        return f"{self.batch_size} x {self.seq_len}"


Step = Callable[[], object]


def settings(name: str, shape: Shape, *flags: str) -> TrainConfig:
    sizes = ["--batch-size", str(shape.batch_size), "--seq-len", str(shape.seq_len)]
    return configuration.parse(["--model", name, *sizes, *flags], {})


def reference(name: str, shape: Shape, world: World) -> Step:
    """The sample's recipe: FSDP1 by module size, bf16 weights, AdamW, the loss read each step."""
    with torch.device(world.device):
        net = Qwen2ForCausalLM(model.qwen2_config(PRESETS[name])).to(torch.bfloat16)
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=WRAPPED)
    sharded = FullyShardedDataParallel(net, auto_wrap_policy=policy, device_id=world.device)
    adamw = torch.optim.AdamW(sharded.parameters(), lr=2e-5)
    vocabulary, size = PRESETS[name].vocab_size, (shape.batch_size, shape.seq_len)

    def step() -> float:
        tokens = torch.randint(0, vocabulary, size, device=world.device)
        loss = sharded(input_ids=tokens, labels=tokens).loss
        loss.backward()
        adamw.step()
        adamw.zero_grad()
        return float(loss.item())

    return step


def ours(name: str, shape: Shape, world: World, flags: Sequence[str] = ()) -> Step:
    """Our training, as `trainyard train` runs it; the loss is read a step late."""
    config = settings(name, shape, *flags)
    net = model.build(config, world.device)
    chosen = plan.choose(config, net.size(), world.machines)
    originals = weights.twins(net)
    parallel.shard(net, chosen, config, world)
    weights.fill(net, originals, config, world)
    adamw = optimizer.build_optimizer(net, config)
    reader = Reader(config, world.rank, world.size)
    timeline = Timeline(world.device)
    unread = None

    def step() -> None:
        nonlocal unread
        batches = [next(reader) for _ in range(config.accumulate)]
        scalars = train.train_step(
            net, adamw, batches, config.learning_rate, config.clip, world, timeline
        )
        if unread is not None:
            unread.read()
        unread = scalars[0]

    return step


def forget() -> None:
    """Give back the memory of a recipe that is not used any more."""
    gc.collect()
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
