"""Where text comes from: files found, and cut into splits.

The splits depend on nothing but the names and sizes of what is there, so that
every rank, of any number of ranks and after any restart, has the same list.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import math
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from pyarrow import fs

from trainyard.checkpoint import storage
from trainyard.config import STDLIB, ConfigError
from trainyard.data import formats, lines, tables
from trainyard.data.formats import Split

MIB = 1 << 20
MANY_TEXTS = 64  # are a document each; fewer are cut
LARGEST_SPLIT = 64 * MIB
MANY_FILES = 1024  # are a split each, rather than opened all to be cut
SHARES = 16  # of few files or row groups that can only be read from the beginning
HELD_BACK = 20  # one split in so many is for evaluation

FORMATS = {".parquet": formats.PARQUET, ".arrow": formats.ARROW}
FORMATS |= dict.fromkeys((".jsonl", ".ndjson", ".json"), formats.JSONL)
SOURCE_CODE = ".py .pyi .c .h .cc .cpp .cu .go .rs .java .js .ts .sh .toml .yaml .yml"
TEXTS = {".txt", ".md", ".rst", ".tex", ".html", *SOURCE_CODE.split()}
COMPRESSED = {".gz", ".zst"}


@dataclass(frozen=True)
class Source:
    """Files of one format, in order."""

    uri: str
    format: str
    files: tuple[tuple[str, int], ...]  # path in the file system, bytes
    fingerprint: str  # changes with the names and sizes of the files

    @property
    def size(self) -> int:
        return sum(size for _, size in self.files)

    @property
    def compressed(self) -> bool:
        return any(_compression(path) for path, _ in self.files)


def find(name: str) -> Source:
    """The files of STDLIB, a file, a folder or a URI.

    Raises ConfigError if there is nothing to read.
    """
    uri = sysconfig.get_path("stdlib") if name == STDLIB else name
    with storage.explained("reading the data", uri):
        system, path = storage.filesystem(uri)
        about = system.get_file_info(path)
        if about.type == fs.FileType.NotFound:
            raise ConfigError(f"the data {name!r} does not exist")
        if about.type == fs.FileType.File:
            found = {about.path: about.size}
            kind = _format(about.path) or formats.TEXT
            root = str(PurePosixPath(about.path).parent)
        else:
            selector = fs.FileSelector(path, recursive=name != STDLIB)
            kind, found = _of_one_format(path, system.get_file_info(selector), name)
            root = path
    if not sum(found.values()):
        raise ConfigError(f"the data {name!r} is empty")
    files = tuple(sorted((path, size) for path, size in found.items() if size))
    listing = [(str(_inside(root, path)), size) for path, size in files]
    digest = hashlib.blake2b(repr((kind, listing)).encode(), digest_size=16)
    return Source(uri, kind, files, digest.hexdigest())


def _of_one_format(root: str, infos: Iterable[Any], name: str) -> tuple[str, dict[str, int]]:
    """The files of a folder that are data: a README beside Parquet files is not."""
    by_format: dict[str, dict[str, int]] = {}
    for info in infos:
        inside = _inside(root, info.path)
        kind = _format(info.path)
        hidden = any(part.startswith(".") for part in inside.parts)
        wanted = name != STDLIB or inside.suffix == ".py"
        if info.type == fs.FileType.File and kind and wanted and not hidden:
            by_format.setdefault(kind, {})[info.path] = info.size
    for kind in (formats.ARROW, formats.PARQUET, formats.JSONL, formats.TEXT):
        if kind in by_format:
            return kind, by_format[kind]
    raise ConfigError(
        f"no data in the folder {name!r}: it needs text (.txt, .md, source code), .jsonl, "
        ".parquet or .arrow files"
    )


def _inside(root: str, path: str) -> PurePosixPath:
    """A path without its root, which the hub may write in another way."""
    pure = PurePosixPath(path)
    return pure.relative_to(root) if pure.is_relative_to(root) else pure


def _compression(path: str) -> str | None:
    suffix = PurePosixPath(path).suffix.lower()
    return suffix if suffix in COMPRESSED else None


def _format(path: str) -> str | None:
    pure = PurePosixPath(path.lower())
    suffix = (pure.with_suffix("") if _compression(path) else pure).suffix
    return FORMATS.get(suffix) or (formats.TEXT if suffix in TEXTS else None)


def splits(source: Source) -> list[Split]:
    """All splits of a source, in the order of its files.

    Their size grows with the square root of the whole: 4 KB are cut into 4,
    5 MB into 130, 100 GB into 20,000 pieces.
    """
    piece = min(LARGEST_SPLIT, max(1, 16 * math.isqrt(source.size)))
    with storage.explained("reading the data", source.uri):
        if source.format in (formats.TEXT, formats.JSONL):
            return list(_cut_bytes(source, piece))
        return list(_cut_rows(source, piece))


def _cut_bytes(source: Source, piece: int) -> Iterator[Split]:
    many = len(source.files) >= MANY_TEXTS
    if many and source.format == formats.TEXT:
        piece = max(piece, lines.DOCUMENT)  # each file a document
    for path, size in source.files:
        if _compression(path):
            yield from _share(path, size, len(source.files))
            continue
        pieces = math.ceil(size / piece)
        cuts = [size * number // pieces for number in range(pieces + 1)]
        for first, last in itertools.pairwise(cuts):
            yield Split(path, first, last, last - first)


def _cut_rows(source: Source, piece: int) -> Iterator[Split]:
    if len(source.files) >= MANY_FILES:
        yield from (Split(path, 0, None, size) for path, size in source.files)
        return
    if source.format == formats.ARROW and not storage.is_local(source.uri):
        for path, size in source.files:  # no index tells what is where
            yield from _share(path, size, len(source.files))
        return
    with ThreadPoolExecutor(16) as pool:  # on S3, most of the time is waiting
        read = functools.partial(tables.blocks, source.uri, source.format)
        files = list(pool.map(read, [path for path, _ in source.files]))
    ways = math.ceil(SHARES / max(1, sum(map(len, files))))
    for (path, _), blocks in zip(source.files, files, strict=True):
        atoms = [atom for block in blocks for atom in _cut_block(block, ways)]
        first, row, size = 0, 0, 0
        for atom in atoms:
            row += atom.rows
            size += atom.size
            if size >= piece or ways > 1 or atom is atoms[-1]:
                if row > first:
                    yield Split(path, first, row, size)
                first, size = row, 0


def _share(path: str, size: int, files: int) -> Iterator[Split]:
    """Splits of a file that can only be read from its beginning: each reads it all."""
    parts = 1 if files >= SHARES else SHARES
    for part in range(parts):
        yield Split(path, 0, None, size // parts, part, parts)


def _cut_block(block: tables.Block, ways: int) -> Iterator[tables.Block]:
    ways = max(1, min(ways, block.rows))
    for way in range(ways):
        rows = block.rows * (way + 1) // ways - block.rows * way // ways
        yield tables.Block(rows, block.size // ways)


def hold_back(all_splits: Sequence[Split]) -> tuple[list[Split], list[Split]]:
    """What is trained on, and what is kept for evaluation: at least one split each, if possible."""
    if len(all_splits) == 1:
        all_splits = _halves(all_splits[0])
    chosen = set(range(HELD_BACK - 1, len(all_splits), HELD_BACK)) or {len(all_splits) - 1}
    held = [split for index, split in enumerate(all_splits) if index in chosen]
    return [split for index, split in enumerate(all_splits) if index not in chosen], held


def _halves(split: Split) -> list[Split]:
    if split.last is None:
        parts = split.parts * 2
        return [
            dataclasses.replace(split, part=part, parts=parts)
            for part in (split.part, split.part + split.parts)
        ]
    middle = (split.first + split.last + 1) // 2
    return [dataclasses.replace(split, last=middle), dataclasses.replace(split, first=middle)]
