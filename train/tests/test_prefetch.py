from __future__ import annotations

import os
import threading
from collections.abc import Generator

import pytest

from trainyard.data.prefetch import Prefetch


class Counter:
    """Counts up, tells when it is closed, and fails at a number."""

    def __init__(self, fails_at: int = -1) -> None:
        self.made = 0
        self.closed = threading.Event()
        self._fails_at = fails_at

    def __call__(self) -> Generator[int, None, None]:
        try:
            while self.made != self._fails_at:
                yield self.made
                self.made += 1
            raise OSError("no more")
        finally:
            self.closed.set()


def test_items_in_order_and_not_too_many() -> None:
    count = Counter()
    items = Prefetch(count(), ahead=3)
    assert [next(items) for _ in range(10)] == list(range(10))
    items.close()
    assert count.closed.is_set()
    assert count.made <= 13
    with pytest.raises(StopIteration):
        next(items)


def test_errors_come_in_their_place() -> None:
    items = Prefetch(Counter(fails_at=2)(), ahead=4)
    assert [next(items), next(items)] == [0, 1]
    for _ in range(2):
        with pytest.raises(OSError, match="no more"):
            next(items)
    items.close()


def test_the_end() -> None:
    items = Prefetch((number for number in (1, 2)), ahead=4)
    assert list(items) == [1, 2]
    assert list(items) == []


def test_closed_before_it_began() -> None:
    count = Counter()
    items = Prefetch(count(), ahead=1)
    items.close()
    with pytest.raises(StopIteration):
        next(items)
    assert count.made == 0


def test_patience() -> None:
    waits = threading.Event()

    def stuck() -> Generator[int, None, None]:
        waits.wait()
        yield 1

    items = Prefetch(stuck(), ahead=1, patience=0.01)
    with pytest.raises(TimeoutError, match=r"nothing came for 0.01 s"):
        next(items)
    items.close()  # although the thread is stuck
    waits.set()


def test_dropped_without_close() -> None:
    count = Counter()
    items = Prefetch(count(), ahead=1)
    next(items)
    del items
    assert count.closed.is_set()


def test_made_before_a_fork() -> None:
    items = Prefetch(Counter()(), ahead=1)
    child = os.fork()
    if child == 0:
        os._exit(next(items) + next(items) + 7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 8
    items.close()
