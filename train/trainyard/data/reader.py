"""The batches of a rank, each with the position that any number of ranks can go on from.

sources: files, cut into splits -> lanes: splits, dealt out -> corpus: documents as
tokens -> lanes: rows without padding -> here: batches, made ahead in a thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trainyard.config import RANDOM, ConfigError, TrainConfig
from trainyard.data import corpus, tokenizer
from trainyard.data.ahead import Ahead, free_cpus
from trainyard.data.corpus import BrokenLines, Corpus, Group, Work
from trainyard.data.datainfo import check_length, random_vocabulary
from trainyard.data.lanes import MOST_PER_RANK, Cursor, Lane, RandomLane, TextLane, lane_count
from trainyard.data.prefetch import Prefetch

READY = 4  # batches that wait to be asked for


class Batch(NamedTuple):
    """What a rank trains on in one forward pass: batch_size rows of seq_len + 1."""

    tokens: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int32] | None  # the number of each token's document in its row
    position: dict[str, Any]  # of this rank after this batch; see merge_positions


class Reader(Iterator[Batch]):
    """Batches without end. Close it, or use it in a `with`, to end its thread.

    From a position it goes on where the ranks of an earlier run, of any number,
    were; without one, and for data that is held back, from the beginning.
    Raises ConfigError, also while it reads, for data that cannot be read.
    """

    def __init__(
        self,
        config: TrainConfig,
        rank: int,
        world_size: int,
        position: Mapping[str, Any] | None = None,
        held_back: bool = False,
    ) -> None:
        self._broken = BrokenLines(config.broken_lines)
        ends = contextlib.ExitStack()
        if config.data == RANDOM and not held_back:
            lanes = _random_lanes(config, rank, world_size, position)
        elif held_back:
            lanes = _held_back_lanes(config, rank, world_size, self._broken, ends)
        else:
            lanes = _text_lanes(config, rank, world_size, position, self._broken, ends)
        self._batches = Prefetch(_batches(*lanes, config.batch_size, ends), READY)

    @property
    def broken(self) -> int:
        """How many lines or rows could not be read, and were skipped, up to now."""
        return self._broken.count

    @property
    def broken_examples(self) -> list[str]:
        return list(self._broken.examples)

    def __next__(self) -> Batch:
        return next(self._batches)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._batches.close()


def merge_positions(positions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The position of a run, from those of all its ranks after the same batch."""
    cursors = {
        lane: cursor for position in positions for lane, cursor in position["cursors"].items()
    }
    lanes = positions[0]["lanes"]
    if len(cursors) != lanes:
        raise ValueError(f"positions of {len(cursors)} lanes of {lanes}: a rank's is missing")
    return {"lanes": lanes, "cursors": dict(sorted(cursors.items(), key=lambda item: int(item[0])))}


def _batches(
    count: int, lanes: Mapping[int, Lane], batch_size: int, ends: contextlib.ExitStack
) -> Generator[Batch, None, None]:
    """Batches of the lanes of a rank, of `count` lanes in all."""
    with ends:
        while True:
            rows = []
            for _ in range(batch_size):
                # In turn, and after a change of world size those first that are behind.
                turn = min(lanes, key=lambda lane: (lanes[lane].cursor.rows, lane))
                rows.append(lanes[turn].row())
            documents = [row[1] for row in rows if row[1] is not None]
            cursors = {str(number): dict(vars(lane.cursor)) for number, lane in lanes.items()}
            yield Batch(
                np.stack([row[0] for row in rows]),
                np.stack(documents) if documents else None,
                {"lanes": count, "cursors": cursors},
            )


def _random_lanes(
    config: TrainConfig, rank: int, world_size: int, position: Mapping[str, Any] | None
) -> tuple[int, dict[int, Lane]]:
    count, cursors = _resume(position, MOST_PER_RANK * world_size, world_size)
    vocabulary = random_vocabulary(config)
    lanes: dict[int, Lane] = {
        lane: RandomLane(cursors(lane), config.seed, lane, vocabulary, config.seq_len)
        for lane in range(rank, count, world_size)
    }
    return count, lanes


def _text_lanes(
    config: TrainConfig,
    rank: int,
    world_size: int,
    position: Mapping[str, Any] | None,
    broken: BrokenLines,
    ends: contextlib.ExitStack,
) -> tuple[int, dict[int, Lane]]:
    texts = corpus.training(config)
    check_length(config, texts, world_size)
    count, cursors = _resume(position, lane_count(len(texts.splits), world_size), world_size)
    mine = {lane: cursors(lane) for lane in range(rank, count, world_size)}
    return count, _open(config, texts, count, mine, broken, ends, free_cpus(config, world_size))


def _held_back_lanes(
    config: TrainConfig,
    rank: int,
    world_size: int,
    broken: BrokenLines,
    ends: contextlib.ExitStack,
) -> tuple[int, dict[int, Lane]]:
    if (config.eval_data or config.data) == RANDOM:
        raise ConfigError("random tokens have no part to hold back: give --eval-data of text")
    texts = corpus.held_back(config)
    count = min(len(texts.splits), world_size)  # where it is less, some ranks see the same
    return count, _open(config, texts, count, {rank % count: Cursor()}, broken, ends, cpus=0)


def _open(
    config: TrainConfig,
    texts: Corpus,
    count: int,
    cursors: Mapping[int, Cursor],
    broken: BrokenLines,
    ends: contextlib.ExitStack,
    cpus: int,
) -> dict[int, Lane]:
    """Lanes of a corpus, of `count` in all, each at its cursor; read ahead on cpus, if any."""
    words = tokenizer.load(config)
    works = {lane: texts.work(lane, count, cursor) for lane, cursor in cursors.items()}
    if cpus:
        same = {lane: texts.work(lane, count, cursor) for lane, cursor in cursors.items()}
        ahead = Ahead(texts.source, words, same, cpus)
        ends.callback(ahead.close)

    def groups(work: Work) -> Iterator[Group]:
        alone = corpus.groups(texts.source, work, words)
        return ahead.groups(work, alone) if cpus else alone

    lanes: dict[int, Lane] = {}
    for lane, cursor in cursors.items():
        parts = ((work, groups(work)) for work in works[lane])
        stream = corpus.encoded(texts.source, parts, broken)
        ends.callback(stream.close)
        lanes[lane] = TextLane(cursor, stream, config.seq_len)
    return lanes


def _resume(
    position: Mapping[str, Any] | None, fresh: int, world_size: int
) -> tuple[int, Callable[[int], Cursor]]:
    """The number of lanes, and where each is; `fresh` lanes without a position."""
    if position is None:
        return fresh, lambda _: Cursor()
    count = int(position["lanes"])
    if count < world_size:
        raise ConfigError(
            f"{world_size} workers cannot go on from this checkpoint: its data was dealt out to "
            f"{count} lanes, each for one worker; take at most {count} workers"
        )
    return count, lambda lane: Cursor(**position["cursors"][str(lane)])
