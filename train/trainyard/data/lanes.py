"""Lanes: the data of a run, dealt out so that any number of ranks can share it.

The splits of an epoch, in an order of its own, are dealt to a number of lanes
that is fixed when a run begins. A lane reads its splits one after another, and a
cursor says where it is. A rank reads several lanes in turn; all cursors together
are the position of the run, from which any number of ranks, up to the number of
lanes, can go on.

Lanes are alike in bytes, but not in tokens, and a rank may have one lane more
than another: each goes on to its next epoch by itself, without waiting for
others. Every lane's part of an epoch is read once and whole.
"""

from __future__ import annotations

import dataclasses
import hashlib
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

MOST_PER_RANK = 12  # which many numbers divide, for a later change of world size
FEWEST_PER_RANK = 4
SPLITS_PER_LANE = 8  # so that lanes come out alike

Row = npt.NDArray[np.int64]
Documents = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Cursor:
    """Where the next row of a lane begins."""

    epoch: int = 0
    split: int = 0  # of the lane's splits in this epoch
    document: int = 0  # the place in its file, as formats.Document has it
    offset: int = 0  # tokens of the document
    rows: int = 0  # that the lane has given since the run began


class Encoded(NamedTuple):
    """A document as tokens, its end-of-text token included."""

    epoch: int
    split: int
    document: int
    tokens: npt.NDArray[np.int32]


class Lane(Protocol):
    cursor: Cursor

    def row(self) -> tuple[Row, Documents | None]: ...


def lane_count(splits: int, world_size: int) -> int:
    """A multiple of world_size, if there are that many splits."""
    per_rank = splits // (SPLITS_PER_LANE * world_size)
    per_rank = min(MOST_PER_RANK, max(FEWEST_PER_RANK, per_rank), splits // world_size)
    return per_rank * world_size


def deal(sizes: Sequence[int], lanes: int, seed: int, epoch: int) -> list[list[int]]:
    """The splits of each lane in an epoch, in order: each split goes to the emptiest lane.

    Shuffled by a hash, which no version of a random generator changes.
    """
    order = sorted(range(len(sizes)), key=lambda split: _draw(seed, epoch, split))
    dealt: list[list[int]] = [[] for _ in range(lanes)]
    emptiest = [(0, lane) for lane in range(lanes)]
    for split in order:
        size, lane = emptiest[0]
        dealt[lane].append(split)
        heapq.heapreplace(emptiest, (size + sizes[split], lane))
    return dealt


def _draw(seed: int, epoch: int, split: int) -> bytes:
    return hashlib.blake2b(b"%d/%d/%d" % (seed, epoch, split), digest_size=8).digest()


class TextLane:
    """Rows of seq_len + 1 tokens, filled with one document after another, without padding.

    The last token of a row is the first of the next, so that each token but a
    lane's very first is predicted once.
    """

    def __init__(self, cursor: Cursor, stream: Iterator[Encoded], seq_len: int) -> None:
        """The stream begins with the document that the cursor is in."""
        self.cursor = cursor
        self._stream = stream
        self._length = seq_len + 1
        self._current: Encoded | None = None

    def row(self) -> tuple[Row, Documents]:
        """Tokens [seq_len + 1], and for each the number of its document in the row."""
        row = np.empty(self._length, np.int64)
        documents = np.empty(self._length, np.int32)
        current = self._current or next(self._stream)
        offset, filled, number = self.cursor.offset, 0, 0
        while True:
            part = current.tokens[offset : offset + self._length - filled]
            row[filled : filled + len(part)] = part
            documents[filled : filled + len(part)] = number
            filled += len(part)
            offset += len(part)
            if filled == self._length:
                break
            current, offset, number = next(self._stream), 0, number + 1
        self._current = current
        place = (current.epoch, current.split, current.document)
        self.cursor = Cursor(*place, offset - 1, self.cursor.rows + 1)
        return row, documents


class RandomLane:
    """Rows of random token ids, without end."""

    def __init__(self, cursor: Cursor, seed: int, lane: int, vocabulary: int, seq_len: int) -> None:
        self.cursor = cursor
        self._draw = (seed, lane)
        self._vocabulary = vocabulary
        self._length = seq_len + 1

    def row(self) -> tuple[Row, None]:
        generator = np.random.default_rng([*self._draw, self.cursor.rows])
        self.cursor = dataclasses.replace(self.cursor, rows=self.cursor.rows + 1)
        return generator.integers(self._vocabulary, size=self._length), None
