"""Tokenizing by Ray Data, on a real Ray, against doing it in the process."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
from conftest import Settings
from test_reader import texts_of, write_lines
from test_tokenizer import save_tokenizer

from trainyard.config import ConfigError, TrainConfig
from trainyard.data import ahead, corpus, tokenizer
from trainyard.data.corpus import Group, Work
from trainyard.data.formats import Split
from trainyard.data.lanes import Cursor
from trainyard.data.reader import Batch, Reader, merge_positions

# Ray warns of settings of its own, as it copies them.
pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:ray")


@pytest.fixture(scope="module")
def cpus() -> Iterator[int]:
    # A short path: sockets are made in it. pytest's own are too long.
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        environment = {"env_vars": {"PYTHONPATH": str(Path(ahead.__file__).parents[2])}}
        ray.init(
            "local",
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            _temp_dir=folder,
            runtime_env=environment,
        )
        yield 2
        # Ray Data's threads would start another Ray after this one.
        assert not [thread for thread in threading.enumerate() if "Streaming" in thread.name]
        ray.shutdown()


@pytest.fixture
def config(settings: Settings, tmp_path: Path) -> TrainConfig:
    data = write_lines(tmp_path / "data.jsonl", [*texts_of(400), "{"])
    words = save_tokenizer(tmp_path / "tokenizer", eos_token="<end>")
    return settings("--model", "qwen2.5-0.5b", "--tokenizer", words, "--data", data,
                    "--seq-len", "64")  # fmt: skip


def batches(config: TrainConfig, count: int, position: object = None) -> list[Batch]:
    with Reader(config, 0, 2, position) as reader:  # type: ignore[arg-type]
        return list(itertools.islice(reader, count))


def test_not_imported_for_nothing() -> None:
    """Under plain torchrun there need be no Ray."""
    check = "import sys, trainyard.data.reader; assert not {'ray', 'torch'} & set(sys.modules)"
    folder = Path(ahead.__file__).parents[2]
    subprocess.run([sys.executable, "-c", check], cwd=folder, check=True)


def test_in_turn() -> None:
    def works(lane: int, size: int) -> Iterator[Work]:
        return (
            Work(lane, 0, ordinal, Split("", 0, None, size), 0) for ordinal in itertools.count()
        )

    order = ahead.in_turn({0: works(0, 10), 4: works(4, 25)})
    assert [work.lane for work in itertools.islice(order, 8)] == [0, 4, 0, 0, 4, 0, 0, 0]


@pytest.mark.ray
def test_same_batches(cpus: int, config: TrainConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set(threading.enumerate())
    # Each lane's first splits alone, as while Ray Data starts, and then through it.
    early = itertools.count()
    monkeypatch.setattr("trainyard.data.prefetch.Prefetch.ready", lambda _: next(early) > 5)
    monkeypatch.setattr(ahead, "FEWEST", 1)
    monkeypatch.setattr(ahead, "WORKS", 25)  # several pipelines, and epochs
    assert ahead.free_cpus(config, 2) == 1
    made = batches(config, 150)
    resumed = batches(config, 20, merge_positions([made[99].position, other_rank(config)]))
    # Ray Data's own helpers may stay, parked; neither our thread nor its executors.
    left = {thread.name for thread in set(threading.enumerate()) - threads}
    assert not [name for name in left if name == "prefetch" or "Streaming" in name]

    monkeypatch.setattr("trainyard.data.reader.free_cpus", lambda *_: 0)
    alone = batches(config, 150)
    assert made[-1].position["cursors"]["0"]["epoch"] > 0
    same(made, alone)
    same(resumed, alone[100:120])


def other_rank(config: TrainConfig) -> dict[str, object]:
    with Reader(config, 1, 2) as reader:
        return next(reader).position


def same(one: list[Batch], other: list[Batch]) -> None:
    for first, second in zip(one, other, strict=True):
        assert np.array_equal(first.tokens, second.tokens)
        assert first.position == second.position


@pytest.mark.ray
def test_no_free_cpu(cpus: int, config: TrainConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where training workers hold all: the rank reads by itself."""
    assert ahead.free_cpus(config, 1) == 0  # fewer than are worth it
    monkeypatch.setattr(ahead, "FEWEST", 1)
    monkeypatch.setattr(ahead, "PROBE_SECONDS", 0.5)

    class Worker:
        def ready(self) -> None:
            pass

        def free(self, config: TrainConfig) -> int:
            return ahead.free_cpus(config, 1)

    worker: Any = ray.remote(num_cpus=2)(Worker).remote()
    ray.get(worker.ready.remote())
    assert ahead.free_cpus(config, 1) == 0
    assert ray.get(worker.free.remote(config)) == 0
    ray.kill(worker)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """No split is read alone only because Ray Data takes time to start."""
    monkeypatch.setattr("trainyard.data.prefetch.Prefetch.ready", lambda _: True)


def groups(config: TrainConfig, count: int) -> tuple[list[list[int]], ahead.Ahead]:
    """The tokens of the first splits of a lane, through Ray."""
    texts = corpus.training(config)
    words = tokenizer.load(config)
    through = ahead.Ahead(texts.source, words, {0: texts.work(0, 1, Cursor())}, cpus=1)

    def alone(work: Work) -> Iterator[Group]:
        return corpus.groups(texts.source, work, words)

    found = [
        group.tokens.tolist()
        for work in itertools.islice(texts.work(0, 1, Cursor()), count)
        for group in through.groups(work, alone(work))
    ]
    return found, through


def dies_later(*arguments: Any) -> Iterator[Any]:
    """What a task does, but for the last splits."""
    for row in ENCODE(*arguments):
        if arguments[-1]["id"][-1] > 20:
            raise RuntimeError("a node is gone")
        yield row


ENCODE = ahead._encode


@pytest.mark.ray
def test_goes_on_alone(
    cpus: int,
    begun: None,
    config: TrainConfig,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Where Ray fails, or nothing comes any more, and whatever had come by then."""
    expected, through = groups(config, 30)
    through.close()

    monkeypatch.setattr(ahead, "_encode", dies_later)
    found, through = groups(config, 30)
    through.close()
    assert found == expected
    assert "tokenizing in this process from now" in caplog.text


@pytest.mark.ray
def test_user_faults_come_through(cpus: int, begun: None, config: TrainConfig) -> None:
    texts = corpus.training(config)
    Path(config.data).unlink()
    words = tokenizer.load(config)
    through = ahead.Ahead(texts.source, words, {0: texts.work(0, 1, Cursor())}, cpus=1)
    with pytest.raises(ConfigError, match=r"reading .*data.jsonl.*: not found"):
        list(through.groups(next(texts.work(0, 1, Cursor())), iter(())))
    through.close()
