"""Documents of text files and JSONL files, which may be compressed.

Reading starts at any document's place, and takes no more memory than a document.
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from typing import IO, Any

from pyarrow import fs

from trainyard.data.formats import FIELD, Document, Split, share

MIB = 1 << 20
DOCUMENT = MIB  # longer text files are cut into documents of about so many bytes
LONGEST_LINE = 64 * MIB  # of JSONL
SEARCH = 4096  # bytes that are looked through for a line's end, where text is cut


def text(system: fs.FileSystem, split: Split, place: int) -> Iterator[Document]:
    """A file is a document, and so are pieces of it where it is long."""
    if split.last is None:
        return share(_compressed_text(system, split.path), split, place)
    return _text_range(system, split, split.last, place)


def _text_range(system: fs.FileSystem, split: Split, last: int, place: int) -> Iterator[Document]:
    with system.open_input_file(split.path) as file:
        end = _cut(file, last)
        place = max(place, _cut(file, split.first))
        while place < end:
            stop = min(end, _cut(file, place + DOCUMENT))
            file.seek(place)
            yield Document(place, file.read(stop - place))
            place = stop


def _cut(file: Any, offset: int) -> int:
    """The first place from offset on where a line begins, or, if none is near, a character.

    It depends on the file alone, and grows with offset: neighbours agree on it.
    """
    size = int(file.size())
    if offset <= 0 or offset >= size:
        return max(0, min(offset, size))
    file.seek(offset - 1)
    near = file.read(SEARCH)
    newline = near.find(b"\n")
    if newline >= 0:
        return offset + int(newline)
    inside = itertools.takewhile(lambda byte: byte & 0xC0 == 0x80, near[1:4])
    return offset + len(list(inside))


def _compressed_text(system: fs.FileSystem, path: str) -> Iterator[Document]:
    with _lines(system.open_input_stream(path)) as file:
        place = 0
        while text := file.read(DOCUMENT):
            text += b"" if text.endswith(b"\n") else file.readline(LONGEST_LINE)
            yield Document(place, text)
            place += len(text)


def jsonl(system: fs.FileSystem, split: Split, place: int) -> Iterator[Document]:
    """A line that begins in the split is a document."""
    if split.last is None:
        with _lines(system.open_input_stream(split.path)) as file:
            yield from map(_parse, share(_all_lines(file, 0), split, place))
        return
    with _lines(system.open_input_file(split.path)) as file:
        begin = max(place, split.first)
        if begin > 0:  # the line that the byte before is in belongs to the split before
            file.seek(begin - 1)
            begin += _line(file)[1] - 1
        for line in _all_lines(file, begin):
            if line.place >= split.last:
                return
            yield _parse(line)


def _lines(file: Any) -> IO[bytes]:
    return io.BufferedReader(file, MIB)


def _all_lines(file: IO[bytes], place: int) -> Iterator[Document]:
    while True:
        line, length = _line(file)
        if not length:
            return
        problem = "" if len(line) == length else f"longer than {LONGEST_LINE} bytes"
        yield Document(place, line, problem)
        place += length


def _line(file: IO[bytes]) -> tuple[bytes, int]:
    """The next line, of which too long a one is cut, and its whole length."""
    line = file.readline(LONGEST_LINE)
    length = len(line)
    while length >= LONGEST_LINE and (more := file.readline(LONGEST_LINE)):
        length += len(more)
        if more.endswith(b"\n"):
            break
    return line, length


def _parse(line: Document) -> Document:
    place, text, problem = line
    text = text.strip()
    if problem or not text:
        return Document(place, b"", problem)
    try:
        value = json.loads(text.decode("utf-8-sig" if place == 0 else "utf-8"))
        return Document(place, _field(value).encode())
    except UnicodeDecodeError:
        return Document(place, b"", "not UTF-8")
    except UnicodeEncodeError:
        return Document(place, b"", f"{FIELD!r} has half a surrogate pair")
    except json.JSONDecodeError as error:
        return Document(
            place, b"", f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1}"
        )
    except RecursionError:
        return Document(place, b"", "not JSON: nested too deeply")
    except ValueError as error:
        return Document(place, b"", str(error))


def _field(value: Any) -> str:
    if not isinstance(value, dict):
        raise ValueError(f"not an object but a {type(value).__name__}")
    if FIELD not in value:
        has = ", ".join(map(repr, list(value)[:5])) or "none"
        raise ValueError(f"no field {FIELD!r}, has {has}")
    text = value[FIELD]
    if not isinstance(text, str):
        raise ValueError(f"{FIELD!r} is not text but a {type(text).__name__}")
    return text
