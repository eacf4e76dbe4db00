"""An image classifier: PyTorch's DistributedDataParallel under Ray Train.

    trainyard train -- python examples/python/image_classifier.py

Draws its own pictures, so that there is nothing to download. Runs on all GPUs
of the cluster, or else on its CPUs. A worker that dies costs what was trained
since the last epoch; give --storage-path what all machines see, such as
s3://bucket/folder.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ray
import ray.train
import ray.train.torch
import torch
import torch.distributed as dist
from ray.train import Checkpoint, CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

SHAPES = ("disc", "square", "ring", "cross")
SIDE = 24  # pixels


class Pictures(Dataset[tuple[Tensor, int]]):
    """Noisy grey pictures [1, SIDE, SIDE] of one shape each; the same number, the same picture."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        random = torch.Generator().manual_seed(self.first + index)
        label = index % len(SHAPES)
        radius, x, y = torch.tensor([5, 8, 8]) * (1 + torch.rand(3, generator=random))
        pixels = torch.arange(SIDE)
        dx, dy = (pixels - x).abs(), (pixels - y).abs()[:, None]
        distance = (dx**2 + dy**2).sqrt()
        square = torch.maximum(dx, dy) < radius
        drawn = {
            "disc": distance < radius,
            "square": square,
            "ring": (distance < radius) & (distance > 0.6 * radius),
            "cross": square & (torch.minimum(dx, dy) < 0.3 * radius),
        }[SHAPES[label]]
        return drawn.float() + 0.3 * torch.randn(drawn.shape, generator=random)[None], label


def network() -> nn.Module:
    layers: list[nn.Module] = []
    for channels, wider in (1, 16), (16, 32):
        layers += nn.Conv2d(channels, wider, 5, stride=2), nn.BatchNorm2d(wider), nn.ReLU()
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * 3 * 3, len(SHAPES)))


def accuracy(model: nn.Module, batches: Iterable[list[Tensor]], device: torch.device) -> float:
    """The share of pictures that are told right, over all ranks."""
    model.eval()
    right = torch.zeros(2, device=device)
    with torch.no_grad():
        for images, labels in batches:
            hits = model(images).argmax(1) == labels
            right += torch.tensor([hits.sum(), len(hits)], device=device)
    dist.all_reduce(right)
    return float(right[0] / right[1])


def train(config: dict[str, Any]) -> None:
    """What each worker runs."""
    torch.manual_seed(0)
    context = ray.train.get_context()
    device = ray.train.torch.get_device()
    model = network()
    parallel = ray.train.torch.prepare_model(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    loader = DataLoader(Pictures(0, config["pictures"]), batch_size=64, shuffle=True)
    training = ray.train.torch.prepare_data_loader(loader)
    loader = DataLoader(Pictures(10**6, 512), batch_size=128)
    held_back = ray.train.torch.prepare_data_loader(loader)

    first = 1
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as folder:
            state = torch.load(Path(folder, "state.pt"), map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["epoch"] + 1

    for epoch in range(first, config["epochs"] + 1):
        model.train()
        if context.get_world_size() > 1:
            training.sampler.set_epoch(epoch)
        for images, labels in training:
            loss = F.cross_entropy(parallel(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        right = accuracy(model, held_back, device)
        metrics = {"epoch": epoch, "loss": loss.item(), "accuracy": right}
        state = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "epoch": epoch,
        }
        if context.get_world_rank() == 0:
            print(f"epoch {epoch}  loss {loss.item():.3f}  accuracy {right:.3f}")
            with tempfile.TemporaryDirectory() as folder:
                torch.save(state, Path(folder, "state.pt"))
                ray.train.report(metrics, checkpoint=Checkpoint.from_directory(folder))
        else:
            ray.train.report(metrics)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--pictures", type=int, default=4096)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--storage-path", help="where checkpoints go; default ~/ray_results")
    options = parser.parse_args()

    ray.init()
    gpus = int(ray.cluster_resources().get("GPU", 0))
    trainer = TorchTrainer(
        train,
        train_loop_config={
            "epochs": options.epochs,
            "pictures": options.pictures,
            "lr": options.lr,
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
