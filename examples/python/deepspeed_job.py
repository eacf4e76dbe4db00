"""A DeepSpeed job under Ray Train: ZeRO on a network that learns to sort.

    trainyard train --pip deepspeed -- python examples/python/deepspeed_job.py

deepspeed.initialize is called as without Ray, which has started torch.distributed.
Runs on all GPUs of the cluster, or else on its CPUs, where DeepSpeed first
compiles a helper: two minutes, once. Each rank saves its own part of the
optimizer, and Ray puts the parts together in one checkpoint.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

import deepspeed
import ray
import ray.train
import torch
from ray.train import Checkpoint, CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from torch import Tensor, nn
from torch.nn import functional as F

LENGTH, VALUES = 8, 16  # numbers in a list, and how many there are


class Sorter(nn.Module):
    """Reads lists of numbers [batch, LENGTH]; says for each place which number belongs there."""

    def __init__(self, hidden: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VALUES, hidden)
        self.place = nn.Parameter(torch.randn(LENGTH, hidden) * 0.1)
        layer = nn.TransformerEncoderLayer(hidden, 4, 4 * hidden, 0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(hidden, VALUES)

    def forward(self, numbers: Tensor) -> Tensor:
        return self.head(self.layers(self.embedding(numbers) + self.place))


def train(config: dict[str, Any]) -> None:
    """What each worker runs."""
    torch.manual_seed(0)
    settings = {
        "train_micro_batch_size_per_gpu": 64,
        "optimizer": {"type": "AdamW", "params": {"lr": 2e-3, "torch_adam": True}},
        "zero_optimization": {"stage": config["stage"]},
        "bf16": {"enabled": config["gpu"]},
        "gradient_clipping": 1.0,
    }
    model = Sorter()
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=settings
    )
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as folder:
            engine.load_checkpoint(folder)

    rank = ray.train.get_context().get_world_rank()
    random = torch.Generator().manual_seed(rank + 1000 * engine.global_steps)
    while engine.global_steps < config["steps"]:
        numbers = torch.randint(VALUES, (64, LENGTH), generator=random).to(engine.device)
        ordered = numbers.sort().values
        scores = engine(numbers)
        loss = F.cross_entropy(scores.float().flatten(0, 1), ordered.flatten())
        engine.backward(loss)
        engine.step()
        if engine.global_steps % config["every"] == 0:
            right = (scores.argmax(-1) == ordered).float().mean()
            metrics = {"step": engine.global_steps, "loss": loss.item(), "right": right.item()}
            if rank == 0:
                print(
                    f"step {engine.global_steps}  loss {loss.item():.3f}  right {right.item():.3f}"
                )
            with tempfile.TemporaryDirectory() as folder:
                engine.save_checkpoint(folder)
                ray.train.report(metrics, checkpoint=Checkpoint.from_directory(folder))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--stage", type=int, default=1, help="of ZeRO")
    parser.add_argument("--storage-path", help="where checkpoints go; default ~/ray_results")
    options = parser.parse_args()

    ray.init()
    gpus = int(ray.cluster_resources().get("GPU", 0))
    trainer = TorchTrainer(
        train,
        train_loop_config={
            "steps": options.steps,
            "every": options.steps // 4,
            "stage": options.stage,
            "gpu": gpus > 0,
        },
        scaling_config=ScalingConfig(
            num_workers=gpus or int(ray.cluster_resources()["CPU"]), use_gpu=gpus > 0
        ),
        run_config=RunConfig(
            storage_path=options.storage_path,
            failure_config=FailureConfig(max_failures=2),
            checkpoint_config=CheckpointConfig(num_to_keep=2),
        ),
    )
    result = trainer.fit()
    print(f"checkpoint in {result.checkpoint.path}")


if __name__ == "__main__":
    main()
