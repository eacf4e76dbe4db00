"""Reading and tokenizing on CPUs that training leaves free, by Ray Data.

A rank's splits go through one pipeline in the order in which the rank will need
them, and come back as the groups of documents that the rank would have made by
itself: the batches are the same. Where no CPU is free, or none is any more, the
rank reads by itself. Ray Data's tasks wait for CPUs and hold none while they do, and
the training workers wait for them only so long, so that neither can block the other.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import heapq
import itertools
import logging
import pickle
import sys
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pyarrow as pa

from trainyard.checkpoint import storage
from trainyard.config import BYTES, ConfigError, TrainConfig
from trainyard.data import corpus, tokenizer
from trainyard.data.corpus import Group, Work
from trainyard.data.prefetch import Prefetch
from trainyard.data.sources import Source
from trainyard.data.tokenizer import Tokenizer

FEWEST = 4  # free CPUs a rank, with which this is faster than what a rank does by itself
PROBE_SECONDS = 10.0  # within which a free CPU runs a task
PATIENCE = 120.0  # seconds without a result, after which a rank reads by itself
WORKS = 4096  # splits that go through one pipeline, before the next
TASK_BYTES = 1 << 20  # that a task reads, about
READY = 16  # groups that wait in this process

Result = Group | None  # None: the split has no more groups


def free_cpus(config: TrainConfig, world_size: int) -> int:
    """CPUs for one of world_size ranks to tokenize on; 0 where that is not worth it or possible.

    Under plain torchrun Ray is not even imported.
    """
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized() or tokenizer.name(config) == BYTES:
        return 0
    context = ray.get_runtime_context()
    mine = context.get_assigned_resources().get("CPU", 0) if context.get_actor_id() else 0
    spare = int(ray.cluster_resources().get("CPU", 0) - world_size * mine)
    if spare < FEWEST * world_size:
        return 0
    # Others may hold them, or none may be on this node. What Ray says to be
    # available is out of date while the other ranks ask for the same.
    probe = ray.remote(num_cpus=1, max_retries=0, **_placement(config.data))(_nothing).remote()
    try:
        ray.get(probe, timeout=PROBE_SECONDS)
    except ray.exceptions.RayError:
        ray.cancel(probe)
        return 0
    return spare // world_size


def _nothing() -> None:
    pass


def _placement(data: str) -> dict[str, Any]:
    """Local files are read on this node, where they are known to be; others anywhere."""
    if not storage.is_local(data):
        return {}
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = ray.get_runtime_context().get_node_id()
    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(here, soft=False)}


class Ahead:
    """The groups of a rank's lanes, made on `cpus` CPUs. Close it to end the tasks."""

    def __init__(
        self, source: Source, words: Tokenizer, works: Mapping[int, Iterator[Work]], cpus: int
    ) -> None:
        """Takes what each lane is to read, in order."""
        self._waiting: dict[int, collections.deque[Result]] = {
            lane: collections.deque() for lane in works
        }
        self._results = Prefetch(pipelines(source, words, in_turn(works), cpus), READY, PATIENCE)
        self._alone: collections.Counter[int] = collections.Counter()
        self._begun = self._gone = False

    def groups(self, work: Work, alone: Iterator[Group]) -> Iterator[Group]:
        """The groups of a lane's next split.

        From `alone` before the pipeline has begun to give results, which takes
        seconds, and once it is gone.
        """
        self._begun = self._begun or self._results.ready()
        if not self._begun:
            self._alone[work.lane] += 1
            yield from alone
            return
        given = 0
        waiting = self._waiting[work.lane]
        while waiting or self._pull(work.lane):
            group = waiting.popleft()
            if group is None:
                return
            given += 1
            yield group
        yield from itertools.islice(alone, given, None)

    def close(self) -> None:
        self._results.close()

    def _pull(self, lane: int) -> bool:
        """Wait for a result of a lane; keeps those of others. False: none will come."""
        while not self._gone:
            try:
                work, result = next(self._results)
            except ConfigError:
                raise
            except Exception as error:  # whatever befell Ray or its nodes
                self._gone = True
                cause = str(error).strip().partition("\n")[0]
                logging.getLogger(__name__).warning(
                    "tokenizing in this process from now: %s", cause
                )
                self.close()
                break
            if not self._alone[work.lane]:
                self._waiting[work.lane].append(result)
                if work.lane == lane:
                    return True
            elif result is None:  # the end of a split that was read alone
                self._alone[work.lane] -= 1
        return False


def in_turn(works: Mapping[int, Iterator[Work]]) -> Iterator[Work]:
    """What lanes read, in the order in which they come to it: they go on alike in bytes."""
    read = [(0, lane) for lane in sorted(works)]
    while True:
        size, lane = read[0]
        work = next(works[lane])
        heapq.heapreplace(read, (size + work.split.size, lane))
        yield work


def pipelines(
    source: Source, words: Tokenizer, works: Iterator[Work], cpus: int
) -> Generator[tuple[Work, Result], None, None]:
    """The results of works, in their order, without end: groups, and None after each work."""
    from ray import data
    from ray.data import DataContext, ExecutionResources

    # Its news of each pipeline would stand between the lines of the training.
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = DataContext.get_current().copy()
    context.execution_options.preserve_order = True
    context.execution_options.resource_limits = ExecutionResources.for_limits(cpu=cpus)
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    pickled_words = pickle.dumps(words)
    while True:
        some = list(itertools.islice(works, WORKS))
        tasks = sum(work.split.size for work in some) // TASK_BYTES
        with DataContext.current(context):
            dataset = data.range(len(some), override_num_blocks=max(1, min(tasks, len(some))))
            dataset = dataset.map_batches(
                functools.partial(_encode, pickled_words, source, some),
                batch_size=None,
                **_placement(source.uri),
            )
            batches: Any = iter(
                dataset.iter_batches(prefetch_batches=0, batch_size=None, batch_format="pyarrow")
            )
        # Or tasks would go on until the iterator happens to be collected.
        with contextlib.closing(batches):
            for batch in batches:
                for index, pickled in zip(*batch.to_pydict().values(), strict=True):
                    result = pickle.loads(pickled)
                    if isinstance(result, ConfigError):
                        raise result
                    yield some[index], result


def _encode(
    pickled_words: bytes, source: Source, works: list[Work], batch: Mapping[str, Any]
) -> Iterator[pa.Table]:
    """What a task does: rows of (index of a work, a pickled result)."""
    words = _tokenizer(pickled_words)
    for index in batch["id"]:
        try:
            for group in corpus.groups(source, works[index], words):
                yield _row(index, group)
            yield _row(index, None)
        except ConfigError as error:  # as a result, so that Ray puts no words around it
            yield _row(index, error)


def _row(index: int, result: Result | ConfigError) -> pa.Table:
    pickled = pa.array([pickle.dumps(result)], pa.large_binary())
    return pa.table({"work": pa.array([index], pa.int64()), "result": pickled})


@functools.lru_cache(maxsize=1)  # a process of Ray's does many tasks
def _tokenizer(pickled: bytes) -> Tokenizer:
    """The rank's own: no task needs transformers, whose import takes seconds, or the hub."""
    words: Tokenizer = pickle.loads(pickled)
    return words
