"""An iterator that works ahead in a thread."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Generator, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Prefetch(Iterator[T], Generic[T]):
    """The items of a generator, of which a thread keeps `ahead` ready.

    The thread starts with the first item that is asked for, so that the object
    may be made before a fork. An exception of the generator is raised in its
    place among the items, TimeoutError where nothing comes for `patience`
    seconds. close() ends the thread and the generator; it waits no longer either.
    """

    def __init__(
        self, items: Generator[T, None, None], ahead: int, patience: float | None = None
    ) -> None:
        self._ready: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()
        self._room = threading.Semaphore(ahead)
        self._closed = threading.Event()
        self._items = items
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._patience = patience
        self._end: Any = weakref.finalize(
            self, _end, items, None, self._room, self._closed, patience
        )

    def __next__(self) -> T:
        if self._thread is None:
            self._start()
        if self._error is None and not self._closed.is_set():
            try:
                item, self._error = self._ready.get(timeout=self._patience)
            except queue.Empty:
                raise TimeoutError(f"nothing came for {self._patience} s") from None
            self._room.release()
            if self._error is None:
                return item  # type: ignore[return-value]
        raise self._error or StopIteration

    def ready(self) -> bool:
        """Whether the next item is there already; starts the thread."""
        if self._thread is None:
            self._start()
        return not self._ready.empty()

    def close(self) -> None:
        self._end()

    def _start(self) -> None:
        work = (self._items, self._ready, self._room, self._closed)
        # A daemon, so that a process whose reader is not closed can end.
        self._thread = threading.Thread(target=_work, args=work, name="prefetch", daemon=True)
        self._thread.start()
        self._end.detach()
        self._end = weakref.finalize(
            self, _end, self._items, self._thread, self._room, self._closed, self._patience
        )


def _work(
    items: Generator[T, None, None],
    ready: queue.SimpleQueue[tuple[T | None, BaseException | None]],
    room: threading.Semaphore,
    closed: threading.Event,
) -> None:
    try:
        while room.acquire() and not closed.is_set():
            ready.put((next(items), None))
    except BaseException as error:
        ready.put((None, error))
    finally:
        items.close()


def _end(
    items: Generator[T, None, None],
    thread: threading.Thread | None,
    room: threading.Semaphore,
    closed: threading.Event,
    patience: float | None,
) -> None:
    closed.set()
    room.release()
    if thread is None:
        items.close()
    else:
        thread.join(patience)
