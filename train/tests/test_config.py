from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainyard import config as configuration
from trainyard.config import ConfigError


def test_defaults() -> None:
    config = configuration.parse([], {})
    assert (config.model, config.data, config.steps) == ("tiny", "stdlib", 200)
    assert (config.num_workers, config.max_failures, config.resume) == (0, 0, None)
    assert not config.json_metrics
    assert Path(config.checkpoint_dir).parent == Path("checkpoints").absolute()


def test_metrics_variable() -> None:
    assert configuration.parse([], {"TRAINYARD_METRICS": "json"}).json_metrics
    assert not configuration.parse([], {"TRAINYARD_METRICS": ""}).json_metrics


def test_paths_become_absolute() -> None:
    config = configuration.parse(["--data", "a.txt", "--checkpoint-dir", "b", "--resume", "c"], {})
    assert config.data == os.path.abspath("a.txt")
    assert config.checkpoint_dir == os.path.abspath("b")
    assert config.resume == os.path.abspath("c")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "huge"], "unknown model 'huge': choose from tiny"),
        (["--steps", "0"], "--steps must be at least 1, not 0"),
        (["--seq-len", "0"], "--seq-len must be at least 1, not 0"),
        (["--seq-len", "5000"], "--seq-len 5000 is more than tiny's 4096"),
        (["--batch-size", "-1"], "--batch-size must be at least 1, not -1"),
        (["--num-workers", "-1"], "--num-workers must not be negative, but is -1"),
        (["--max-failures", "-2"], "--max-failures must be at least -1 (no limit), not -2"),
        (["--learning-rate", "nan"], "--learning-rate must be between 0 and 1, not nan"),
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
