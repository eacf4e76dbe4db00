"""The data files of a checkpoint: written and read for torch.distributed.checkpoint.

Each rank writes one file of its parts, and hands its size and checksum, with its
position in the data, to the rank that coordinates, which writes the manifest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from typing import Any, BinaryIO, cast

from torch.distributed.checkpoint.filesystem import (
    FileSystem,
    FileSystemReader,
    _FileSystemWriter,
)
from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex
from torch.distributed.checkpoint.planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner
from torch.distributed.checkpoint.storage import WriteResult
from torch.futures import Future

from trainyard.checkpoint import manifest, storage
from trainyard.checkpoint.manifest import DamagedError, Manifest
from trainyard.data import reader

Place = str | PathLike[str]
STREAMS = 8  # requests at a time: S3 answers each late, but many at once
CHUNK = 8 << 20  # bytes


class Writer(_FileSystemWriter):
    """Writes one checkpoint; about holds what the manifest will say, files apart."""

    def __init__(self, folder: str, about: Manifest, keep: int) -> None:
        # What is written is on the disk when its stream is closed, and was copied
        # from the GPU before.
        super().__init__(folder, sync_files=False, per_thread_copy_ahead=0)
        self.fs: Files = Files()
        self.path = folder
        self._about = about
        self._keep = keep

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """On the rank that coordinates, before any rank writes."""
        manifest.delete(str(self.path))
        return super().prepare_global_plan(plans)

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        storage.make_dir(str(self.path))
        results = super().write_data(plan, planner).value()
        # The results go to the rank that coordinates; so does what it needs besides.
        part = _Part(self.fs.written, self._about.position)
        results.append(WriteResult(MetadataIndex(""), 0, part))
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """On the rank that coordinates, when all have written."""
        parts: list[_Part] = [rank.pop().storage_data for rank in results]
        self.fs.written = {}
        super().finish(metadata, results)
        files = dict(self.fs.written)
        for part in parts:
            files |= part.files
        position = reader.merge_positions([part.position for part in parts])
        about = dataclasses.replace(self._about, position=position, files=files)
        about.write(str(self.path))
        prune(str(self.path), self._keep)


@dataclass
class _Part:
    """What one rank wrote, and where it is in the data."""

    files: dict[str, tuple[int, str]]
    position: dict[str, Any]


def prune(newest: str, keep: int) -> None:
    """Delete all but the newest complete checkpoints, and what killed saves left.

    Newer ones, which are there only if they were found to be damaged, do not count.
    """
    directory, _, name = newest.rpartition("/")
    kept = 0
    for step, folder in manifest.folders(directory):
        if not manifest.is_complete(folder):
            manifest.delete(folder)
        elif step <= (manifest.step_of(name) or 0):
            kept += 1
            if kept > keep:
                manifest.delete(folder)


class Reader(FileSystemReader):
    """Reads one checkpoint, several parts at a time, each in one request."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.fs: Files = Files()
        self.path = folder

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        plans = [dataclasses.replace(plan, items=plan.items[i::STREAMS]) for i in range(STREAMS)]
        read = super().read_data
        with ThreadPoolExecutor(STREAMS) as pool:
            for part in [pool.submit(read, each, planner) for each in plans]:
                part.result()
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def _slice_file(self, file: Any, sinfo: Any) -> io.BytesIO:
        return io.BytesIO(file.read_at(sinfo.length, sinfo.offset))


class Files(FileSystem):
    """What torch.distributed.checkpoint asks of a file system, on ours."""

    def __init__(self) -> None:
        self.written: dict[str, tuple[int, str]] = {}  # name: bytes, CRC-32

    @contextlib.contextmanager
    def create_stream(self, path: Place, mode: str) -> Iterator[Any]:
        if mode == "rb":
            system, name = storage.filesystem(str(path))
            with system.open_input_file(name) as file:
                yield file
            return
        with storage.open_write(str(path)) as file:
            stream = _Summed(file)
            try:
                yield stream
            except RuntimeError as error:
                # torch.save, interrupted, puts an error of its own before the cause.
                raise (stream.error or error) from None
        self.written[_name(path)] = (stream.size, f"{stream.sum:08x}")

    def concat_path(self, path: Place, suffix: str) -> str:
        return storage.join(str(path), suffix)

    def rename(self, path: Place, new_path: Place) -> None:
        system, name = storage.filesystem(str(path))
        system.move(name, storage.filesystem(str(new_path))[1])
        self.written[_name(new_path)] = self.written.pop(_name(path))

    def init_path(self, path: Place) -> str:
        return str(path)

    def mkdir(self, path: Place) -> None:
        storage.make_dir(str(path))

    def exists(self, path: Place) -> bool:
        return storage.exists(str(path))

    def rm_file(self, path: Place) -> None:
        storage.delete(str(path))

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Place) -> bool:
        return True


def _name(path: Place) -> str:
    return str(path).rpartition("/")[2]


class _Summed(io.RawIOBase):
    """A stream that keeps count and checksum of what is written to it."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._stream = stream
        self.size = 0
        self.sum = 0
        self.error: OSError | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        try:
            self._stream.write(data)
        except OSError as error:
            self.error = error
            raise
        size = memoryview(data).nbytes
        self.size += size
        self.sum = zlib.crc32(data, self.sum)
        return size

    def tell(self) -> int:
        return self.size


def verify(folder: str, files: Mapping[str, tuple[int, str]]) -> None:
    """Raises DamagedError, naming it, for a file that is not as it was written."""
    for name, (size, expected) in files.items():
        place = storage.join(folder, name)
        try:
            with Files().create_stream(place, "rb") as file:
                there = cast(int, file.size())
                found = _checksum(file, size) if there == size else None
        except FileNotFoundError:
            raise DamagedError(f"{place!r} is missing from a checkpoint") from None
        except OSError as error:
            raise storage.problem("reading", place, error) from error
        if there != size:
            raise DamagedError(f"{place!r} is damaged: it has {there} bytes instead of {size}")
        if found != expected:
            raise DamagedError(
                f"{place!r} is damaged: its checksum is {found} instead of {expected}"
            )


def _checksum(file: Any, size: int) -> str:
    """CRC-32 of a file, read in several places at a time."""
    total = 0
    with ThreadPoolExecutor(STREAMS) as pool:
        for window in range(0, size, STREAMS * CHUNK):
            starts = range(window, min(size, window + STREAMS * CHUNK), CHUNK)
            for data in pool.map(lambda start: file.read_at(CHUNK, start), starts):
                total = zlib.crc32(data, total)
    return f"{total:08x}"
