"""The process group, the place of this process in it, and sharding."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch._functorch.config as functorch_config
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

from trainyard import float8, unused
from trainyard.config import TrainConfig, is_hook
from trainyard.model import LanguageModel, parameter_count
from trainyard.plan import Machines, Plan

GROUP_BYTES = 400 * 2**20


@dataclass(frozen=True)
class World:
    """Where this process stands among all that train together."""

    rank: int
    size: int
    local_rank: int  # among the ranks of this node
    local_size: int
    node_rank: int  # nodes are numbered by their lowest rank
    nodes: int
    even: bool  # every node has as many ranks
    node: str  # the name of the Ray node, else of the host
    device: torch.device
    backend: str  # of the collectives: nccl or gloo

    @property
    def machines(self) -> Machines:
        """What plan.choose wants to know."""
        gpu = self.device.type == "cuda"
        memory = torch.cuda.mem_get_info()[1] if gpu else 0
        return Machines(self.nodes, self.size, self.even, memory, 2 if gpu else 4)


@contextlib.contextmanager
def distributed() -> Iterator[World]:
    """Join the process group that RANK, WORLD_SIZE, MASTER_ADDR and so on describe.

    A group that exists already, as under Ray Train, is used and left in place.
    """
    device = _device()
    owner = not dist.is_initialized()
    if owner:
        if device.type == "cuda":
            dist.init_process_group("nccl", device_id=device)
        else:
            dist.init_process_group("gloo")
    yield _world(device)
    # Not after an error: the other ranks may be inside a collective, where this
    # one would wait for them. The process ends, and they notice.
    if owner:
        dist.destroy_process_group()


def _device() -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    # Where several Ray nodes share a host, LOCAL_RANK counts over the host but
    # CUDA_VISIBLE_DEVICES holds the GPUs of the node. The ranks of a node have
    # consecutive numbers, so the remainder never gives one GPU to two of them.
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


def _world(device: torch.device) -> World:
    rank, size = dist.get_rank(), dist.get_world_size()
    # Asked of each other rather than of the environment, which takes the Ray
    # nodes of one host for one node.
    places: list[tuple[str, str]] = [("", "")] * size
    dist.all_gather_object(places, _node())
    nodes = list(dict.fromkeys(places))
    return World(
        rank=rank,
        size=size,
        local_rank=places[:rank].count(places[rank]),
        local_size=places.count(places[rank]),
        node_rank=nodes.index(places[rank]),
        nodes=len(nodes),
        even=len({places.count(place) for place in nodes}) == 1,
        node=places[rank][1],
        device=device,
        backend=dist.get_backend(),
    )


def _node() -> tuple[str, str]:
    """The identity of this node, and its name."""
    if "ray" in sys.modules:
        import ray

        if ray.is_initialized():
            identity = ray.get_runtime_context().get_node_id()
            names = {node["NodeID"]: node["NodeName"] for node in ray.nodes()}
            return identity, names.get(identity) or socket.gethostname()
    # NCCL's own name for a host, for ranks of one machine that are to be as many.
    name = os.environ.get("NCCL_HOSTID") or socket.gethostname()
    return name, name


def shard(model: LanguageModel, plan: Plan, config: TrainConfig, world: World) -> None:
    """Spread parameters, gradients and optimizer state as planned (FSDP2).

    Weights stay fp32. GPUs compute in bf16 and reduce gradients in bf16, which
    halves what crosses the network. DDP is sharding over groups of one rank.
    """
    mesh = _mesh(plan, world)
    on_gpu = world.device.type == "cuda"
    policy = mixed_precision() if on_gpu else MixedPrecisionPolicy()
    _broadcast(model, world.device)
    if is_hook(config.model):
        unused.give_gradients(model, model.layers)
    in_fp8 = config.precision == "fp8"
    if in_fp8:
        float8.convert(model.layers, config, world.device)
    if config.compile == "on" or (config.compile == "auto" and on_gpu):
        # Compiled layers may compute cheap activations twice: a third of the
        # memory for 1% of the time in bf16. In fp8, where activations are half
        # as large, it would cost 7%.
        functorch_config.activation_memory_budget = 1.0 if in_fp8 else 0.7
        for layer in model.layers:
            # The forward pass alone: what FSDP does around it is not compiled.
            layer.forward = torch.compile(layer.forward)
    if plan.activation_checkpointing:
        for layer in model.layers:
            layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False)
    for group in _groups(model.layers, world.machines.travel_bytes, plan.reshard):
        fully_shard(group, mesh=mesh, mp_policy=policy, reshard_after_forward=plan.reshard)
    fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=False)


def mixed_precision() -> MixedPrecisionPolicy:
    """bf16, but for what the whole model is called with: a rounded scale would scale the loss."""
    half = torch.bfloat16
    return MixedPrecisionPolicy(param_dtype=half, reduce_dtype=half, cast_forward_inputs=False)


@torch.no_grad()
def _broadcast(model: nn.Module, device: torch.device) -> None:
    """The first rank's weights for all: a user's function may draw other ones on each rank."""
    for tensor in [*model.parameters(), *model.buffers()]:
        if not tensor.is_meta:
            same = tensor.to(device).contiguous()  # such a function may make it elsewhere
            dist.broadcast(same, src=0)
            tensor.copy_(same)


def _groups(layers: list[nn.Module], travel_bytes: int, one_by_one: bool) -> list[list[nn.Module]]:
    """Layers that are gathered together: alone where memory is short, else GROUP_BYTES of them.

    Each group costs the host about 2 ms a step, which small layers cannot hide.
    """
    size = 1
    if layers and not one_by_one:
        size = max(1, GROUP_BYTES // max(1, travel_bytes * parameter_count(layers[0])))
    return [layers[first : first + size] for first in range(0, len(layers), size)]


def _mesh(plan: Plan, world: World) -> DeviceMesh:
    """One dimension to shard over or, where the model is replicated, two."""
    device, shards = world.device.type, plan.shard_ranks
    if shards == world.size:
        return init_device_mesh(device, (world.size,), mesh_dim_names=("shard",))
    shape = (world.size // shards, shards)
    return init_device_mesh(device, shape, mesh_dim_names=("replicate", "shard"))


def synchronize_gradients(model: nn.Module, last: bool) -> None:
    """Whether the next backward pass ends a step: only then gradients are summed over ranks.

    Until then gathered weights are kept too, so that a step gathers them once.
    """
    assert isinstance(model, FSDPModule)
    model.set_requires_gradient_sync(last)
    model.set_reshard_after_backward(last)


class LateScalar:
    """The sum of a scalar over all ranks, and when it was ready, read later.

    Reading a value at once would stall the device until the host has queued
    new work. Here the copy to the host is queued right behind the work that
    makes the value, so that reading it while the next step runs waits for
    nothing else.
    """

    def __init__(self, value: Tensor, reduce: bool = True) -> None:
        total = value.detach().clone()
        if reduce:
            dist.all_reduce(total)
        self._value = total.to("cpu", non_blocking=True)
        self._ready_at = time.perf_counter()
        self._ready: torch.cuda.Event | None = None
        if value.is_cuda:
            self._ready = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            self._ready.record()

    def read(self) -> float:
        if self._ready:
            self._ready.synchronize()
        return float(self._value.item())

    def seconds_since(self, earlier: LateScalar) -> float:
        """The time between the two being ready. This one must have been read."""
        if self._ready and earlier._ready:
            return float(earlier._ready.elapsed_time(self._ready)) / 1000
        return self._ready_at - earlier._ready_at
