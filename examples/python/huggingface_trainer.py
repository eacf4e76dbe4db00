"""A Hugging Face Trainer under Ray Train: a small language model on Python's own source.

    trainyard train --pip accelerate -- python examples/python/huggingface_trainer.py

The Trainer is as it is without Ray: prepare_trainer and a callback are all that
is added. Weights are random, tokens are bytes, and there is nothing to download.
Runs on all GPUs of the cluster, or else on its CPUs.
"""

from __future__ import annotations

import argparse
import sysconfig
from pathlib import Path
from typing import Any

import ray
import ray.train
import torch
from ray.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.huggingface.transformers import RayTrainReportCallback, prepare_trainer
from ray.train.torch import TorchTrainer
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

LENGTH = 64  # bytes a sample


def samples() -> list[dict[str, torch.Tensor]]:
    """Pieces of the standard library, of which each byte is a token."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("[a-z]*.py"))
    text = bytearray(b"".join(file.read_bytes() for file in files))
    tokens = torch.frombuffer(text, dtype=torch.uint8).long()
    pieces = tokens[: len(tokens) // LENGTH * LENGTH].view(-1, LENGTH)
    pieces = pieces[torch.randperm(len(pieces), generator=torch.Generator().manual_seed(0))]
    return [{"input_ids": piece, "labels": piece} for piece in pieces]


def train(config: dict[str, Any]) -> None:
    """What each worker runs."""
    torch.manual_seed(0)
    shape = LlamaConfig(
        vocab_size=256,
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=LENGTH,
        bos_token_id=None,
        eos_token_id=None,
    )
    pieces = samples()
    arguments = TrainingArguments(
        output_dir="checkpoints",  # each worker has a folder of its own
        max_steps=config["steps"],
        per_device_train_batch_size=16,
        learning_rate=3e-3,
        warmup_steps=10,
        logging_steps=config["steps"] // 4,
        logging_first_step=True,
        eval_strategy="steps",
        eval_steps=config["steps"] // 2,
        save_steps=config["steps"] // 2,
        ddp_find_unused_parameters=False,
        use_cpu=not config["gpu"],
        disable_tqdm=True,
        report_to="none",
    )
    trainer = Trainer(
        model=LlamaForCausalLM(shape),
        args=arguments,
        train_dataset=pieces[256:],
        eval_dataset=pieces[:256],
        callbacks=[RayTrainReportCallback()],
    )
    trainer = prepare_trainer(trainer)
    checkpoint = ray.train.get_checkpoint()
    if checkpoint is None:
        trainer.train()
    else:
        with checkpoint.as_directory() as folder:
            trainer.train(
                resume_from_checkpoint=str(Path(folder, RayTrainReportCallback.CHECKPOINT_NAME))
            )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--storage-path", help="where checkpoints go; default ~/ray_results")
    options = parser.parse_args()

    ray.init()
    gpus = int(ray.cluster_resources().get("GPU", 0))
    trainer = TorchTrainer(
        train,
        train_loop_config={"steps": options.steps, "gpu": gpus > 0},
        scaling_config=ScalingConfig(
            num_workers=gpus or int(ray.cluster_resources()["CPU"]), use_gpu=gpus > 0
        ),
        run_config=RunConfig(
            storage_path=options.storage_path,
            failure_config=FailureConfig(max_failures=2),
            checkpoint_config=CheckpointConfig(num_to_keep=2),
        ),
    )
    metrics = trainer.fit().metrics or {}
    print(f"evaluation loss {metrics['eval_loss']:.2f}")


if __name__ == "__main__":
    main()
