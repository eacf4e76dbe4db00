"""What the tests share: ranks as processes, and configurations to train with."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import socket
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from trainyard import config as configuration
from trainyard.config import TrainConfig

# Children are forked from a server that has imported PyTorch once.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["trainyard.train"])

Settings = Callable[..., TrainConfig]
RunRanks = Callable[..., list[Any]]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Makes the configuration of a run of a few short steps."""

    def make(*arguments: str) -> TrainConfig:
        small = ["--seq-len", "16", "--batch-size", "2", "--checkpoint-dir", str(tmp_path / "run")]
        return configuration.parse([*small, *arguments], {configuration.METRICS_VARIABLE: "json"})

    return make


@pytest.fixture(scope="session")
def s3() -> Iterator[dict[str, str]]:
    """A server that speaks S3, with a bucket `bucket`: the environment that leads to it."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    urlopen(Request(f"{endpoint}/bucket", method="PUT")).close()
    yield {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    server.stop()


@pytest.fixture
def run_ranks(tmp_path: Path) -> RunRanks:
    """Runs function(*arguments) as several ranks; returns what each returned."""

    def run(size: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        port = free_port()
        results = [tmp_path / f"rank-{rank}.pickle" for rank in range(size)]
        ranks = [
            PROCESSES.Process(
                target=as_rank, args=(rank, size, port, results[rank], function, arguments)
            )
            for rank in range(size)
        ]
        for process in ranks:
            process.start()
        join(*ranks)
        assert [process.exitcode for process in ranks] == [0] * size
        return [pickle.loads(result.read_bytes()) for result in results]

    return run


def as_rank(
    rank: int,
    size: int,
    port: int,
    result: Path,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    import torch

    from trainyard.parallel import distributed

    torch.set_num_threads(1)
    os.environ.update(
        RANK=str(rank),
        WORLD_SIZE=str(size),
        LOCAL_RANK=str(rank),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
    )
    # One group for all that the function does: a second one at the same port
    # could find the store of the first.
    with distributed():
        result.write_bytes(pickle.dumps(function(*arguments)))


def join(*processes: ForkServerProcess) -> None:
    """Waits for all to end; ends those that hang."""
    deadline = time.monotonic() + 180
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.exitcode is None:
            process.kill()
            process.join()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
