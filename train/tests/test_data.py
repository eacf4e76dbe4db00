from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trainyard import data
from trainyard.config import ConfigError

TOKENS = np.arange(256, dtype=np.uint8)


def test_batch_holds_each_token_with_its_next() -> None:
    batch = data.Windows(TOKENS, seq_len=10, seed=0).batch(0, 3)
    assert batch.shape == (3, 11)
    assert batch.dtype == np.int64
    assert (np.diff(batch) == 1).all()


def test_all_windows_once_a_round() -> None:
    windows = data.Windows(TOKENS, seq_len=10, seed=0)
    assert windows.count == 25
    starts = windows.batch(0, 2 * windows.count)[:, 0]
    first, second = starts[:25], starts[25:]
    assert sorted(first) == sorted(second) == list(range(0, 250, 10))
    assert list(first) != list(second)


def test_ranks_share_one_order() -> None:
    """Two ranks get in two halves what one rank gets at once, and nothing twice."""
    whole = data.Windows(TOKENS, seq_len=10, seed=7).batch(4, 8)
    ranks = [data.Windows(TOKENS, seq_len=10, seed=7).batch(4 + 4 * rank, 4) for rank in (0, 1)]
    assert (np.concatenate(ranks) == whole).all()
    assert len({int(row[0]) for row in whole}) == 8


def test_order_is_the_seeds() -> None:
    orders = [list(data.Windows(TOKENS, 10, seed).batch(0, 25)[:, 0]) for seed in (1, 1, 2)]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]


@pytest.mark.parametrize(("tokens", "count"), [(0, 0), (1, 0), (10, 0), (11, 1), (20, 1), (21, 2)])
def test_window_count(tokens: int, count: int) -> None:
    assert data.window_count(tokens, seq_len=10) == count


def test_stdlib_is_source_text() -> None:
    tokens = data.load("stdlib")
    assert len(tokens) > 1_000_000
    assert b"import" in tokens[:100_000].tobytes()


def test_text_file(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"some text")
    assert data.load(str(path)).tobytes() == b"some text"


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"data file '.*missing' does not exist"):
        data.load(str(tmp_path / "missing"))
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(ConfigError, match=r"data file '.*empty' is empty"):
        data.load(str(empty))
