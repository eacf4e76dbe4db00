"""What a run is asked to do: the command line as one typed value.

Nothing here imports PyTorch or Ray, so that a wrong flag is answered at once.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

STDLIB = "stdlib"
METRICS_VARIABLE = "TRAINYARD_METRICS"


class ConfigError(ValueError):
    """Something the user can put right. The message is one line, lower case."""


@dataclass(frozen=True)
class ModelShape:
    """The sizes of a Qwen2-architecture causal language model."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    max_seq_len: int


# Presets have random weights and need no download. `tiny` reads bytes, so that
# its vocabulary needs no tokenizer, and learns something within a minute on
# two CPU cores.
PRESETS = {
    "tiny": ModelShape(
        vocab_size=256,
        hidden_size=256,
        intermediate_size=768,
        layers=2,
        heads=4,
        kv_heads=2,
        max_seq_len=4096,
    ),
}


@dataclass(frozen=True)
class TrainConfig:
    """All settings of a run. Lengths are in tokens, of which a byte is one."""

    model: str
    steps: int  # optimizer steps in all, counted from the very first run
    seq_len: int
    batch_size: int  # sequences per rank and step
    learning_rate: float  # reached after the warm-up
    num_workers: int  # 0: all that the cluster has
    seed: int
    data: str  # STDLIB or the absolute path of a text file
    checkpoint_dir: str
    resume: str | None  # the folder of a complete checkpoint
    max_failures: int
    json_metrics: bool

    @property
    def shape(self) -> ModelShape:
        return PRESETS[self.model]

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


class _Parser(argparse.ArgumentParser):
    """A parser that reports a wrong command line as a ConfigError."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(message)


def parse(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> TrainConfig:
    """Turn a command line into a checked configuration.

    Raises ConfigError, naming all problems, before anything is started.
    """
    flags = vars(_parser().parse_args(argv))
    flags["checkpoint_dir"] = flags["checkpoint_dir"] or _new_checkpoint_dir()
    flags["json_metrics"] = environ.get(METRICS_VARIABLE) == "json"
    # Ray starts workers in a folder of their own: relative paths end here.
    for name in ("checkpoint_dir", "resume"):
        if flags[name] is not None:
            flags[name] = os.path.abspath(flags[name])
    if flags["data"] != STDLIB:
        flags["data"] = os.path.abspath(flags["data"])
    config = TrainConfig(**flags)
    if problems := _problems(config):
        raise ConfigError("; ".join(problems))
    return config


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m trainyard.train",
        description="Train a causal language model with FSDP2 on all workers of a Ray cluster.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    # What is trained, on what.
    add("--model", default="tiny", help=f"preset: {', '.join(PRESETS)}")
    add("--data", default=STDLIB, help=f"a text file, or {STDLIB}: Python's own source text")
    # How.
    add("--steps", type=int, default=200, help="optimizer steps in all, resumed ones included")
    add("--seq-len", type=int, default=64, help="tokens per sequence")
    add("--batch-size", type=int, default=8, help="sequences per worker and step")
    add("--learning-rate", type=float, default=3e-3, help="AdamW, after a short warm-up")
    add("--seed", type=int, default=42, help="of the weights and of the order of the data")
    # Where, and what happens when something breaks.
    add("--num-workers", type=int, default=0, help="0: one per GPU, or per CPU where there is none")
    add("--max-failures", type=int, default=0, help="times that lost workers are started again")
    add("--checkpoint-dir", help="shared by all nodes; a new folder in ./checkpoints if not given")
    add(
        "--resume", metavar="PATH", help="a checkpoint, or a --checkpoint-dir to take the newest of"
    )
    return parser


def _new_checkpoint_dir() -> str:
    return str(Path("checkpoints") / time.strftime("%Y%m%d-%H%M%S"))


def _problems(config: TrainConfig) -> list[str]:
    problems = []
    if config.model not in PRESETS:
        problems.append(f"unknown model {config.model!r}: choose from {', '.join(PRESETS)}")
    elif config.seq_len > config.shape.max_seq_len:
        most = config.shape.max_seq_len
        problems.append(f"--seq-len {config.seq_len} is more than {config.model}'s {most}")
    for name in ("steps", "seq_len", "batch_size"):
        if (value := getattr(config, name)) < 1:
            problems.append(f"{_flag(name)} must be at least 1, not {value}")
    for name in ("num_workers", "seed"):
        if (value := getattr(config, name)) < 0:
            problems.append(f"{_flag(name)} must not be negative, but is {value}")
    if config.max_failures < -1:
        problems.append(f"--max-failures must be at least -1 (no limit), not {config.max_failures}")
    if not 0 < config.learning_rate < 1:
        problems.append(f"--learning-rate must be between 0 and 1, not {config.learning_rate}")
    return problems


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
