from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainyard import config as configuration
from trainyard.config import ConfigError


def test_defaults() -> None:
    config = configuration.parse([], {})
    assert (config.model, config.data, config.steps) == ("tiny", "stdlib", 200)
    assert (config.num_workers, config.max_failures, config.resume) == (0, 3, None)
    assert not config.json_metrics
    assert Path(config.checkpoint_dir).parent == Path("checkpoints").absolute()


@pytest.mark.parametrize("model", ["qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B"])
def test_other_models_default_to_the_reference_job(model: str) -> None:
    config = configuration.parse(["--model", model], {})
    assert (config.data, config.steps) == ("random", 5)
    assert (config.seq_len, config.batch_size, config.learning_rate) == (128, 1, 2e-5)
    assert configuration.parse(["--model", model, "--steps", "7"], {}).steps == 7


@pytest.mark.parametrize(
    "flags", [["--model", "mine:build"], ["--model", "qwen2.5-1.5b", "--data", "corpus.jsonl"]]
)
def test_there_is_something_to_learn(flags: list[str]) -> None:
    config = configuration.parse(flags, {})
    assert config.data in ("stdlib", os.path.abspath("corpus.jsonl"))
    assert (config.steps, config.seq_len, config.batch_size) == (200, 512, 4)
    assert (config.learning_rate, config.eval_every) == (3e-4, 100)


def test_metrics_variable() -> None:
    assert configuration.parse([], {"TRAINYARD_METRICS": "json"}).json_metrics
    assert not configuration.parse([], {"TRAINYARD_METRICS": ""}).json_metrics


def test_paths_become_absolute() -> None:
    flags = ["--data", "a.txt", "--checkpoint-dir", "b", "--resume", "c", "--export", "d"]
    config = configuration.parse(flags, {})
    assert config.data == os.path.abspath("a.txt")
    assert config.checkpoint_dir == os.path.abspath("b")
    assert config.resume == os.path.abspath("c")
    assert config.export == os.path.abspath("d")


def test_uris_stay() -> None:
    flags = ["--data", "hf://datasets/a/b", "--checkpoint-dir", "s3://bucket/run"]
    config = configuration.parse(flags, {})
    assert (config.data, config.checkpoint_dir) == ("hf://datasets/a/b", "s3://bucket/run")


def test_hooks(tmp_path: Path) -> None:
    assert configuration.is_hook("module:function")
    assert configuration.is_hook("mine.py:build")
    assert not configuration.is_hook("Qwen/Qwen2.5-1.5B")
    assert not configuration.is_hook("s3://bucket/model")
    (odd := tmp_path / "a:b").mkdir()
    assert not configuration.is_hook(str(odd))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--steps", "0"], "--steps must be at least 1, not 0"),
        (["--seq-len", "0"], "--seq-len must be at least 1, not 0"),
        (["--seq-len", "5000"], "--seq-len 5000 is more than tiny's 4096"),
        (["--batch-size", "-1"], "--batch-size must be at least 1, not -1"),
        (["--accumulate", "0"], "--accumulate must be at least 1, not 0"),
        (["--num-workers", "-1"], "--num-workers must not be negative, but is -1"),
        (["--max-failures", "-2"], "--max-failures must be at least -1 (no limit), not -2"),
        (["--learning-rate", "nan"], "--learning-rate must be between 0 and 1, not nan"),
        (["--clip", "-1"], "--clip must not be negative, but is -1.0"),
        (["--parallel", "zero"], "--parallel must be one of auto, ddp, fsdp, hsdp, not 'zero'"),
        (["--steps", "many"], "argument --steps: invalid int value: 'many'"),
        (["--step", "3"], "unrecognized arguments: --step 3"),
        (
            ["--steps", "0", "--seed", "-1"],
            "--steps must be at least 1, not 0; --seed must not be negative, but is -1",
        ),
    ],
)
def test_problems(arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configuration.parse(arguments, {})
    assert str(caught.value) == message
