"""What the readers of all formats share: splits of files, and the documents in them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

TEXT, JSONL, PARQUET, ARROW = "text", "JSONL", "Parquet", "Arrow"
FIELD = "text"  # of a JSON object; the column of a table


@dataclass(frozen=True)
class Split:
    """A piece of a file: a range of it, or a share in what can only be read whole."""

    path: str  # in the file system of the source
    first: int  # bytes of text and JSONL, rows of Parquet and Arrow
    last: int | None  # exclusive; None: the end of the file
    size: int  # bytes, about
    part: int = 0  # where last is None: the documents part, part + parts, ...
    parts: int = 1


class Document(NamedTuple):
    """A document, or what is wrong with one.

    place says where it begins: the byte in the file, or in the decompressed
    stream of one, or the row of a table.
    """

    place: int
    text: bytes  # UTF-8
    problem: str = ""


def share(found: Iterator[Document], split: Split, place: int) -> Iterator[Document]:
    """Of the documents of a whole file those of the split, from place on."""
    mine = itertools.islice(found, split.part, None, split.parts)
    return (document for document in mine if document.place >= place)
