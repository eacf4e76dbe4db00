"""Trains on two pods: each adds its rank, and says where it is and what the sum is."""

import socket
import sys

import ray.train
import torch
import torch.distributed
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer


def train(_: dict) -> None:
    rank = ray.train.get_context().get_world_rank()
    model = ray.train.torch.prepare_model(torch.nn.Linear(8, 8))
    model(torch.ones(4, 8)).sum().backward()
    total = torch.tensor([rank + 1.0])
    torch.distributed.all_reduce(total)
    print(f"rank {rank} on {socket.gethostname()}: sum {total.item():.0f}", flush=True)
    ray.train.report({"sum": total.item()})


TorchTrainer(
    train,
    train_loop_config={},
    scaling_config=ScalingConfig(num_workers=2, placement_strategy="STRICT_SPREAD"),
    torch_config=TorchConfig(backend="gloo", timeout_s=120),
    run_config=RunConfig(name="nodes", storage_path=sys.argv[1]),
).fit()
