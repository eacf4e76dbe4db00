"""Bytes as tokens, dealt to ranks in an order that only the seed decides."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trainyard.config import STDLIB, ConfigError

Tokens = npt.NDArray[np.uint8]


def load(source: str) -> Tokens:
    """Return the bytes of a data source, a file being mapped and not read.

    Raises ConfigError if there is nothing to read.
    """
    if source == STDLIB:
        return _stdlib()
    path = Path(source)
    if not path.is_file():
        raise ConfigError(f"data file {source!r} does not exist")
    if path.stat().st_size == 0:
        raise ConfigError(f"data file {source!r} is empty")
    try:
        return np.memmap(path, dtype=np.uint8, mode="r")
    except OSError as error:
        raise ConfigError(f"reading data file {source!r}: {error.strerror}") from error


def _stdlib() -> Tokens:
    folder = Path(sysconfig.get_path("stdlib"))
    modules = sorted(folder.glob("*.py"))
    if not modules:
        raise ConfigError(f"no source text in {str(folder)!r}: name a text file with --data")
    return np.frombuffer(b"".join(path.read_bytes() for path in modules), dtype=np.uint8)


class Windows:
    """Non-overlapping windows of tokens in shuffled order, without end.

    Window i of the order is the same for any number of ranks, so a single
    number, the count of windows consumed by all ranks together, says where a
    run is, and may be continued by another number of ranks. Every window is
    seen once before any is seen again; each round has an order of its own.
    """

    def __init__(self, tokens: Tokens, seq_len: int, seed: int) -> None:
        self.count = window_count(len(tokens), seq_len)
        self._tokens = tokens
        self._seq_len = seq_len
        self._seed = seed
        self._round = -1
        self._order: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def batch(self, first: int, size: int) -> npt.NDArray[np.int64]:
        """Windows first to first+size-1 of the order.

        Shape [size, seq_len + 1]: each token is followed by the one to predict.
        """
        return np.stack([self._window(index) for index in range(first, first + size)])

    def _window(self, index: int) -> npt.NDArray[np.int64]:
        this_round, place = divmod(index, self.count)
        if this_round != self._round:
            shuffle = np.random.default_rng([self._seed, this_round])
            self._round, self._order = this_round, shuffle.permutation(self.count)
        start = int(self._order[place]) * self._seq_len
        return self._tokens[start : start + self._seq_len + 1].astype(np.int64)


def window_count(tokens: int, seq_len: int) -> int:
    """How many windows of seq_len tokens have a next token for each of theirs."""
    return max(0, (tokens - 1) // seq_len)
