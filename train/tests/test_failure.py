from __future__ import annotations

import errno
import json
import pickle
import re
from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
from conftest import RunRanks, Settings
from torch._C._distributed_c10d import HashStore

from trainyard import config as configuration
from trainyard.config import ConfigError, TrainConfig
from trainyard.report import failure
from trainyard.report.failure import RunError


def test_a_run_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(RunError("out of memory", 3, "memory")))
    assert (str(error), error.rank, error.kind) == ("out of memory", 3, "memory")


def failing(error: Exception) -> Callable[[TrainConfig], None]:
    @failure.told
    def train(config: TrainConfig) -> None:
        failure.reached(7)
        raise error

    return train


def record_of(output: str) -> dict[str, object]:
    (line,) = output.splitlines()
    assert line.startswith('{"trainyard": 1, "event": "error", "rank": 0, "step": 7, ')
    record: dict[str, object] = json.loads(line)
    return record


def full_disk() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device", "/checkpoints/x")


def because(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ConfigError("no such data"), "config", "no such data"),
        (RunError("the loss is nan", kind="numbers"), "numbers", "the loss is nan"),
        (torch.OutOfMemoryError("CUDA out of memory."), "memory", "out of memory; "),
        (RuntimeError("CUDA error: out of memory\nmore"), "memory", "out of memory; "),
        (MemoryError(), "memory", "out of memory; "),
        (full_disk(), "storage", "no space left for '/checkpoints/x': free some"),
        (
            because(ConfigError("writing x: no space"), full_disk()),
            "storage",
            "writing x: no space",
        ),
        (
            because(RuntimeError("a shard"), full_disk()),
            "storage",
            "no space left for '/checkpoints/x': free some",
        ),
        (ConnectionResetError("x"), "peer", "another rank is gone (x)"),
        (
            dist.DistBackendError("NCCL error in: a.cpp:1, remote process exited or there was"),
            "peer",
            "another rank is gone (NCCL error in: a.cpp:1",
        ),
        (ValueError("boom\nmore"), "bug", "ValueError: boom"),
        (RuntimeError("shapes do not fit"), "bug", "RuntimeError: shapes do not fit"),
    ],
)
def test_an_error_becomes_a_record(
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    kind: str,
    message: str,
) -> None:
    with pytest.raises((ConfigError, RunError)) as raised:
        failing(error)(settings())
    stdout, stderr = capsys.readouterr()
    record = record_of(stdout)
    assert record["kind"] == kind
    assert str(record["message"]).startswith(message)
    assert ("traceback" in record) == (kind == "bug")
    assert stderr == ""
    assert isinstance(raised.value, ConfigError) == isinstance(error, ConfigError)
    # Nobody is shown what was told already.
    assert raised.value.__suppress_context__ or raised.value is error


@pytest.mark.parametrize("error", [ConfigError("no such data"), MemoryError(), ValueError("boom")])
def test_people_get_one_line_or_one_traceback(
    settings: Settings, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    config = configuration.parse(["--checkpoint-dir", settings().checkpoint_dir], {})
    with pytest.raises((ConfigError, RunError)):
        failing(error)(config)
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    if isinstance(error, ValueError) and not isinstance(error, ConfigError):
        assert stderr.startswith("rank 0 at step 7:\nTraceback (most recent call last):\n")
        assert "in telling" not in stderr
        assert stderr.endswith("ValueError: boom\n")
    else:
        assert stderr.startswith("trainyard.train: rank 0 at step 7: ")
        assert stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["--batch-size", "8", "--seq-len", "2048", "--accumulate", "2"],
            "--batch-size is 8 and --seq-len 2048: try --batch-size 4 --accumulate 4 (as large a"
            " batch, in smaller parts), then --activation-checkpointing on, then --parallel fsdp,"
            " then --seq-len 1024, or more GPUs",
        ),
        (
            ["--batch-size=1", "--seq-len=64", "--parallel=fsdp", "--activation-checkpointing=on"],
            "--batch-size is 1 and --seq-len 64: try --seq-len 32, or more GPUs",
        ),
    ],
)
def test_advice_names_only_what_helps(
    settings: Settings, arguments: list[str], expected: str
) -> None:
    assert failure.advice(settings(*arguments)) == expected


def lose_a_peer() -> bool | None:
    """Whether the rank that is left takes the error of its collective for a consequence."""
    tensor = torch.zeros(1)
    dist.all_reduce(tensor)
    if dist.get_rank() == 1:
        dist.destroy_process_group()
        # A group of its own, for conftest to end.
        dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
        return None
    try:
        dist.all_reduce(tensor)
    except Exception as error:
        return failure.is_consequence(error)
    return False


def test_a_lost_peer_is_a_consequence(run_ranks: RunRanks) -> None:
    assert run_ranks(2, lose_a_peer) == [True, None]


def only_first() -> bool:
    return failure._is_first()


def test_one_rank_shows_its_traceback(run_ranks: RunRanks) -> None:
    assert sorted(run_ranks(2, only_first)) == [False, True]


def test_where_a_bug_is(settings: Settings) -> None:
    """The file and line that an error came from, not those of PyTorch that it went through."""
    try:
        torch.nn.Linear(2, 2)(torch.zeros(3))
    except RuntimeError as error:
        kind, message = failure.explain(error, settings())
    assert kind == "bug"
    assert re.search(r" \(test_failure.py:\d+ in test_where_a_bug_is\)$", message)
