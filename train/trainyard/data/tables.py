"""Documents of Parquet and Arrow files: the rows of a column.

Reading starts at any row, and takes no more memory than a few rows, or what a
file's writer compressed as one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs, ipc, parquet

from trainyard.checkpoint import storage
from trainyard.config import ConfigError
from trainyard.data.formats import ARROW, FIELD, Document, Split, share

BUFFER = 1 << 20  # bytes
ROWS = 128  # that are taken out of a table at a time
ARROW_FILE = b"ARROW1"  # how the file format begins; the stream format does not
TEXT_TYPES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


class Block(NamedTuple):
    """What a file is read in: a row group or a record batch."""

    rows: int
    size: int  # bytes


def rows_of_parquet(system: fs.FileSystem, split: Split, place: int) -> Iterator[Document]:
    with _open_parquet(system, split.path) as file:
        row = 0
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if row + rows > max(place, split.first) and (split.last is None or row < split.last):
                batches = file.iter_batches(ROWS, row_groups=[group], columns=[FIELD])
                yield from _rows(batches, row, split, place)
            row += rows


def rows_of_arrow(system: fs.FileSystem, split: Split, place: int) -> Iterator[Document]:
    with _open_arrow(system, split.path) as file:
        yield from share(_rows(_record_batches(file), 0, split, place), split, place)


def _rows(batches: Iterator[Any], row: int, split: Split, place: int) -> Iterator[Document]:
    """The rows of the split from place on; the batches begin at row."""
    begin = max(place, split.first)
    for batch in batches:
        end = row + batch.num_rows
        stop = end if split.last is None else min(end, split.last)
        for first in range(max(row, begin), stop, ROWS):
            few = batch.column(FIELD)[first - row : min(first + ROWS, stop) - row]
            for index, text in enumerate(few.cast(pa.large_binary()).to_pylist()):
                problem = f"{FIELD!r} is null" if text is None else ""
                yield Document(first + index, text or b"", problem)
        row = end
        if split.last is not None and row >= split.last:
            return


def blocks(uri: str, kind: str, path: str) -> list[Block]:
    """The blocks of a Parquet file, or of a local Arrow file, which is mapped to count them.

    Raises ConfigError if it is none, or has no column of text.
    """
    system = storage.filesystem(uri)[0]
    with storage.explained(f"reading {path!r} of", uri), arrow_errors(path):
        if kind == ARROW:
            with _open_arrow(system, path) as file:
                return [Block(batch.num_rows, batch.nbytes) for batch in _record_batches(file)]
        with _open_parquet(system, path) as file:
            about = file.metadata
            leaves = [about.schema.column(index).path for index in range(about.num_columns)]
            column = leaves.index(FIELD)
            groups = [about.row_group(index) for index in range(about.num_row_groups)]
            return [
                Block(group.num_rows, group.column(column).total_uncompressed_size)
                for group in groups
            ]


def _open_parquet(system: fs.FileSystem, path: str) -> parquet.ParquetFile:
    # Without a buffer of its own it would read a column of a row group at once.
    file = parquet.ParquetFile(system.open_input_file(path), buffer_size=BUFFER, pre_buffer=False)
    _check_schema(file.schema_arrow, path)
    return file


@contextlib.contextmanager
def _open_arrow(system: fs.FileSystem, path: str) -> Iterator[Any]:
    """A reader of record batches: of the stream that `datasets` saves, or of an Arrow file."""
    local = isinstance(system, fs.LocalFileSystem)
    with pa.memory_map(path) if local else system.open_input_file(path) as file:
        magic = file.read(len(ARROW_FILE))
        file.seek(0)
        reader = ipc.open_file(file) if magic == ARROW_FILE else ipc.open_stream(file)
        _check_schema(reader.schema, path)
        yield reader


def _record_batches(reader: Any) -> Iterator[Any]:
    if isinstance(reader, ipc.RecordBatchFileReader):
        return map(reader.get_batch, range(reader.num_record_batches))
    return iter(reader)


def _check_schema(schema: pa.Schema, path: str) -> None:
    if FIELD not in schema.names:
        has = ", ".join(map(repr, schema.names[:8])) or "none"
        raise ConfigError(f"no column {FIELD!r} in {path!r}: it has {has}")
    kind = schema.field(FIELD).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not any(is_text(kind) for is_text in TEXT_TYPES):
        raise ConfigError(f"column {FIELD!r} of {path!r} is not text but {kind}")


@contextlib.contextmanager
def arrow_errors(path: str) -> Iterator[None]:
    """What Arrow says of a file that is not what it is called, as a ConfigError."""
    try:
        yield
    except pa.ArrowException as error:
        cause = str(error).partition("\n")[0]
        raise ConfigError(f"reading {path!r}: {cause}") from error
