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

from trainyard.presets import PRESETS, defaults

STDLIB = "stdlib"
RANDOM = "random"
METRICS_VARIABLE = "TRAINYARD_METRICS"


# Exit codes of a run: it failed, or it was asked for something that cannot be.
FAILED = 1
USAGE = 2


class ConfigError(ValueError):
    """Something the user can put right. The message is one line, lower case."""


@dataclass(frozen=True)
class TrainConfig:
    """All settings of a run. Lengths are in tokens."""

    model: str  # a preset, a Hugging Face id, a folder, or a hook "module:function"
    tokenizer: str | None  # a Hugging Face id or folder; None: the model's; BYTES: none
    data: str  # STDLIB, RANDOM, a path or a URI
    eval_data: str | None  # None: a part of data is held back
    broken_lines: str  # of the data: skip or fail

    steps: int  # optimizer steps in all, counted from the very first run
    seq_len: int
    batch_size: int  # sequences per rank and forward pass
    accumulate: int  # forward passes per optimizer step
    learning_rate: float  # the highest
    schedule: str  # constant, cosine or wsd, after the warm-up
    warmup_steps: int
    weight_decay: float
    clip: float  # the largest norm of the gradients; 0: any
    seed: int
    eval_every: int  # steps; 0: never

    num_workers: int  # 0: all that the cluster has
    parallel: str  # auto, ddp, fsdp or hsdp
    precision: str  # of the large matrix products of blocks on GPUs: bf16 or fp8
    compile: str  # auto, on or off
    activation_checkpointing: str  # auto, on or off
    max_failures: int

    checkpoint_dir: str  # a folder that all nodes share, or an s3:// URI
    checkpoint_every: int  # steps; 0: at the end only
    keep: int  # complete checkpoints; 0: none are saved
    resume: str | None  # a checkpoint, or a folder of checkpoints
    export: str | None  # where to save a Hugging Face model at the end
    json_metrics: bool

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


BYTES = "bytes"
CHOICES = {
    "broken_lines": ("skip", "fail"),
    "schedule": ("constant", "cosine", "wsd"),
    "parallel": ("auto", "ddp", "fsdp", "hsdp"),
    "precision": ("bf16", "fp8"),
    "compile": ("auto", "on", "off"),
    "activation_checkpointing": ("auto", "on", "off"),
}


class _Parser(argparse.ArgumentParser):
    """A parser that reports a wrong command line as a ConfigError."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(message)


def parse(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> TrainConfig:
    """Turn a command line into a checked configuration.

    Raises ConfigError, naming all problems, before anything is started.
    """
    flags = vars(_parser().parse_args(argv))
    own_data = flags["data"] not in (None, RANDOM) or is_hook(flags["model"])
    for name, value in dataclasses.asdict(defaults(flags["model"], own_data)).items():
        if flags[name] is None:
            flags[name] = value
    flags["checkpoint_dir"] = flags["checkpoint_dir"] or _new_checkpoint_dir()
    flags["json_metrics"] = environ.get(METRICS_VARIABLE) == "json"
    # Ray starts workers in a folder of their own: relative paths end here.
    for name in ("checkpoint_dir", "resume", "export", "data", "eval_data"):
        if flags[name] is not None:
            flags[name] = absolute(flags[name])
    for name in ("model", "tokenizer"):
        if flags[name] is not None and Path(flags[name]).is_dir():
            flags[name] = os.path.abspath(flags[name])
    config = TrainConfig(**flags)
    if problems := _problems(config):
        raise ConfigError("; ".join(problems))
    return config


def absolute(source: str) -> str:
    """A path as an absolute one; names and URIs as they are."""
    if source in (STDLIB, RANDOM) or "://" in source:
        return source
    return os.path.abspath(source)


def is_hook(model: str) -> bool:
    """Whether a --model names a function of the user's own, "module:function"."""
    return ":" in model and "://" not in model and not Path(model).exists()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m trainyard.train",
        description="Train a causal language model on all workers of a Ray cluster, or, where "
        "torchrun starts it, on all of its processes.",
        allow_abbrev=False,
    )
    add = parser.add_argument_group("what is trained, on what").add_argument
    add(
        "--model",
        default="tiny",
        help=f"a preset with random weights ({', '.join(PRESETS)}), a Hugging Face id or folder, "
        "or a function of your own as module:function (default: tiny)",
    )
    add("--tokenizer", help=f"a Hugging Face id or folder, or {BYTES} (default: the model's)")
    add(
        "--data",
        help=f"{STDLIB}: Python's own source; {RANDOM}: random tokens; or a file, a folder, "
        "s3://bucket/path or hf://datasets/name of text, JSONL, Parquet or Arrow "
        f"(default: {STDLIB} for tiny, else {RANDOM})",
    )
    add("--eval-data", help="like --data (default: a part of --data is held back)")
    _choice(add, "broken_lines", "skip", "JSONL lines that cannot be read")

    add = parser.add_argument_group("how").add_argument
    add("--steps", type=int, help="optimizer steps in all, resumed ones included")
    add("--seq-len", type=int, help="tokens per sequence")
    add("--batch-size", type=int, help="sequences per worker and forward pass")
    add("--accumulate", type=int, default=1, help="forward passes per step (default: 1)")
    add("--learning-rate", type=float, help="the highest, reached after the warm-up")
    _choice(add, "schedule", "constant", "what follows the warm-up")
    add("--warmup-steps", type=int, help="steps of linear warm-up")
    add("--weight-decay", type=float, default=0.1, help="AdamW's, of matrices (default: 0.1)")
    add("--clip", type=float, default=1.0, help="largest gradient norm; 0: any (default: 1)")
    add("--seed", type=int, default=42, help="of weights and order of the data (default: 42)")
    add("--eval-every", type=int, help="steps between evaluations; 0: none")

    add = parser.add_argument_group("on which machines").add_argument
    add("--num-workers", type=int, default=0, help="0: one per GPU, or CPU where there is none")
    _choice(add, "parallel", "auto", "how the model is spread")
    _choice(add, "precision", "bf16", "of the large matrix products on GPUs; fp8: from Hopper on")
    _choice(add, "compile", "auto", "torch.compile of the layers; auto: on GPUs")
    _choice(add, "activation_checkpointing", "auto", "computes activations twice to save memory")
    add("--max-failures", type=int, default=3, help="restarts; -1: no limit (default: 3)")

    add = parser.add_argument_group("what is kept").add_argument
    add("--checkpoint-dir", help="shared by all nodes, or s3:// (default: a new ./checkpoints/...)")
    add("--checkpoint-every", type=int, help="steps; 0: at the end only")
    add("--keep", "--keep-checkpoints", type=int, default=2, help="0: save none (default: 2)")
    add("--resume", metavar="PATH", help="a checkpoint, or a folder to take the newest of")
    add("--export", metavar="PATH", help="save a Hugging Face model here at the end")
    return parser


def _choice(add: Any, name: str, default: str, about: str) -> None:
    add(_flag(name), default=default, help=f"{about}: {', '.join(CHOICES[name])} ({default})")


def _new_checkpoint_dir() -> str:
    return str(Path("checkpoints") / time.strftime("%Y%m%d-%H%M%S"))


def _problems(config: TrainConfig) -> list[str]:
    problems = []
    shape = PRESETS.get(config.model)
    if shape and config.seq_len > shape.max_seq_len:
        problems.append(
            f"--seq-len {config.seq_len} is more than {config.model}'s {shape.max_seq_len}"
        )
    for name, allowed in CHOICES.items():
        if (choice := getattr(config, name)) not in allowed:
            problems.append(f"{_flag(name)} must be one of {', '.join(allowed)}, not {choice!r}")
    for name in ("steps", "seq_len", "batch_size", "accumulate"):
        if (value := getattr(config, name)) < 1:
            problems.append(f"{_flag(name)} must be at least 1, not {value}")
    for name in ("num_workers", "seed", "warmup_steps", "eval_every", "checkpoint_every", "keep"):
        if (value := getattr(config, name)) < 0:
            problems.append(f"{_flag(name)} must not be negative, but is {value}")
    if config.max_failures < -1:
        problems.append(f"--max-failures must be at least -1 (no limit), not {config.max_failures}")
    if not 0 < config.learning_rate < 1:
        problems.append(f"--learning-rate must be between 0 and 1, not {config.learning_rate}")
    for name in ("weight_decay", "clip"):
        if not 0 <= (value := getattr(config, name)) < float("inf"):
            problems.append(f"{_flag(name)} must not be negative, but is {value}")
    return problems


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
