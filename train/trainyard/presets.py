"""Models that can be made with random weights, and what a run of one defaults to."""

from __future__ import annotations

from dataclasses import dataclass


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
    tied: bool  # the output layer is the embedding


# `tiny` reads bytes, so that its vocabulary needs no tokenizer, and learns
# something within a minute on two CPU cores. The others have the sizes that
# their namesakes publish in config.json, but random weights.
PRESETS = {
    "tiny": ModelShape(256, 256, 768, 2, 4, 2, 4096, tied=False),
    "qwen2.5-0.5b": ModelShape(151_936, 896, 4864, 24, 14, 2, 32_768, tied=True),
    "qwen2.5-1.5b": ModelShape(151_936, 1536, 8960, 28, 12, 2, 32_768, tied=True),
    "qwen2.5-3b": ModelShape(151_936, 2048, 11_008, 36, 16, 2, 32_768, tied=True),
    "qwen2.5-7b": ModelShape(152_064, 3584, 18_944, 28, 28, 4, 32_768, tied=False),
    "qwen2.5-14b": ModelShape(152_064, 5120, 13_824, 48, 40, 8, 32_768, tied=False),
    "qwen2.5-32b": ModelShape(152_064, 5120, 27_648, 64, 40, 8, 32_768, tied=False),
    "qwen2.5-72b": ModelShape(152_064, 8192, 29_568, 80, 64, 8, 32_768, tied=False),
}


@dataclass(frozen=True)
class Defaults:
    """What a run takes where nothing else was asked for."""

    data: str
    steps: int
    seq_len: int
    batch_size: int
    learning_rate: float
    warmup_steps: int
    eval_every: int
    checkpoint_every: int


TINY = Defaults(
    data="stdlib",
    steps=200,
    seq_len=64,
    batch_size=8,
    learning_rate=3e-3,
    warmup_steps=20,
    eval_every=100,
    checkpoint_every=50,
)

# The reference job: a few steps on random tokens that show that the machines,
# the network and the model work together.
REFERENCE = Defaults(
    data="random",
    steps=5,
    seq_len=128,
    batch_size=1,
    learning_rate=2e-5,
    warmup_steps=0,
    eval_every=0,
    checkpoint_every=500,
)


# Real data, to learn from. Weights that were trained before want a lower rate
# than random ones: give --learning-rate 2e-5.
LEARNING = Defaults(
    data="stdlib",
    steps=200,
    seq_len=512,
    batch_size=4,
    learning_rate=3e-4,
    warmup_steps=20,
    eval_every=100,
    checkpoint_every=100,
)


def defaults(model: str, learning: bool) -> Defaults:
    """What a model takes by default; learning: there is something to learn from."""
    if model == "tiny":
        return TINY
    return LEARNING if learning else REFERENCE
