"""A Lightning module under Ray Train: tells two spirals apart.

    trainyard train --pip lightning -- python examples/python/lightning_module.py

Module and Trainer are as they are without Ray, but for a strategy, an
environment and a callback of Ray's. Runs on all GPUs of the cluster, or else on
its CPUs.
"""

from __future__ import annotations

import argparse
import logging
import math
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import ray
import ray.train
import torch
from ray.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.lightning import (
    RayDDPStrategy,
    RayLightningEnvironment,
    RayTrainReportCallback,
    prepare_trainer,
)
from ray.train.torch import TorchTrainer
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


def spirals(count: int, seed: int) -> TensorDataset:
    """Points [count, 2] on one of two spirals that turn around each other, and which one."""
    random = torch.Generator().manual_seed(seed)
    label = torch.arange(count) % 2
    turn = torch.rand(count, generator=random) * 3 * math.pi
    angle = turn + label * math.pi
    points = turn[:, None] / 10 * torch.stack([angle.cos(), angle.sin()], dim=1)
    return TensorDataset(points + 0.01 * torch.randn(points.shape, generator=random), label.float())


class Classifier(pl.LightningModule):
    def __init__(self, lr: float) -> None:
        super().__init__()
        self.lr = lr
        self.layers = nn.Sequential(
            nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
        )

    def forward(self, points: Tensor) -> Tensor:
        return self.layers(points).squeeze(1)

    def training_step(self, batch: list[Tensor], _: int) -> Tensor:
        points, labels = batch
        return F.binary_cross_entropy_with_logits(self(points), labels)

    def validation_step(self, batch: list[Tensor], _: int) -> None:
        points, labels = batch
        right = (self(points) > 0) == labels.bool()
        self.log("accuracy", right.float().mean(), sync_dist=True)

    def on_validation_epoch_end(self) -> None:
        accuracy = self.trainer.callback_metrics["accuracy"]
        self.print(f"epoch {self.current_epoch + 1}  accuracy {accuracy:.3f}")

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


def train(config: dict[str, Any]) -> None:
    """What each worker runs."""
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)  # no tips, and not all twice
    pl.seed_everything(0, verbose=False)
    trainer = pl.Trainer(
        max_epochs=config["epochs"],
        accelerator="gpu" if config["gpu"] else "cpu",
        devices="auto",
        strategy=RayDDPStrategy(),
        plugins=[RayLightningEnvironment()],
        callbacks=[RayTrainReportCallback()],
        enable_checkpointing=False,  # Ray's callback does it
        num_sanity_val_steps=0,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
    )
    trainer = prepare_trainer(trainer)
    model = Classifier(config["lr"])
    training = DataLoader(spirals(4096, seed=1), batch_size=64, shuffle=True)
    held_back = DataLoader(spirals(512, seed=2), batch_size=64)
    checkpoint = ray.train.get_checkpoint()
    if checkpoint is None:
        trainer.fit(model, training, held_back)
    else:
        with checkpoint.as_directory() as folder:
            path = Path(folder, RayTrainReportCallback.CHECKPOINT_NAME)
            trainer.fit(model, training, held_back, ckpt_path=path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--storage-path", help="where checkpoints go; default ~/ray_results")
    options = parser.parse_args()

    ray.init()
    gpus = int(ray.cluster_resources().get("GPU", 0))
    trainer = TorchTrainer(
        train,
        train_loop_config={"epochs": options.epochs, "lr": options.lr, "gpu": gpus > 0},
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
