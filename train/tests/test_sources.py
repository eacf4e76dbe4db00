"""Files of every format as documents: each once, from any place on."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from trainyard.checkpoint import storage
from trainyard.config import ConfigError
from trainyard.data import corpus, sources
from trainyard.data.formats import Document, Split

TEXTS = [f"document {number}: " + "wörter\n" * (number % 40) + "end" for number in range(200)]


def write_texts(path: Path) -> Path:
    path.mkdir()
    for number, text in enumerate(TEXTS):
        (path / f"{number:03d}.txt").write_text(text, encoding="utf-8")
    return path


def lines_of(texts: list[str]) -> bytes:
    return b"".join(json.dumps({"text": text, "n": 1}).encode() + b"\n" for text in texts)


def write_jsonl(path: Path) -> Path:
    path.write_bytes(lines_of(TEXTS)[:-1])  # a last line without its end is a line
    return path


def write_gzip(path: Path) -> Path:
    # Two members in one file, as `cat` and parallel compressors make.
    path.write_bytes(gzip.compress(lines_of(TEXTS[:50])) + gzip.compress(lines_of(TEXTS[50:])))
    return path


def write_zstd(path: Path) -> Path:
    with pa.CompressedOutputStream(path, "zstd") as file:
        file.write(lines_of(TEXTS))
    return path


def write_folder(path: Path) -> Path:
    """Two kinds of names, in folders, beside what is no data."""
    (path / "deeper").mkdir(parents=True)
    (path / "a.jsonl").write_bytes(lines_of(TEXTS[:20]))
    (path / "deeper" / "b.json.gz").write_bytes(gzip.compress(lines_of(TEXTS[20:])))
    (path / ".hidden.jsonl").write_bytes(lines_of(TEXTS[:20]))
    (path / "README.md").write_text("about")
    return path


def table(kind: pa.DataType | None = None) -> pa.Table:
    text = pa.array(TEXTS, kind or pa.string())
    return pa.table({"number": pa.array(range(len(TEXTS))), "text": text})


def write_parquet(path: Path) -> Path:
    parquet.write_table(table(), path, row_group_size=30)
    return path


def write_nested(path: Path) -> Path:
    """One row group, whose columns before the text have parts."""
    before = pa.array([{"a": 1, "b": [2, 3]}] * len(TEXTS))
    parquet.write_table(table(pa.large_string()).add_column(0, "about", before), path)
    return path


def write_stream(path: Path) -> Path:
    """As `datasets` saves: a folder with the stream format and JSON files of its own."""
    path.mkdir()
    (path / "state.json").write_text('{"_fingerprint": 1}')
    with ipc.new_stream(path / "data-00000-of-00001.arrow", table().schema) as writer:
        writer.write_table(table(), max_chunksize=64)
    return path


def write_arrow_file(path: Path) -> Path:
    words = table().set_column(1, "text", table().column("text").dictionary_encode())
    with ipc.new_file(path, words.schema) as writer:
        writer.write_table(words)
    return path


WRITERS: dict[str, Callable[[Path], Path]] = {
    "texts": write_texts,
    "lines.jsonl": write_jsonl,
    "lines.jsonl.gz": write_gzip,
    "lines.json.zst": write_zstd,
    "folder": write_folder,
    "table.parquet": write_parquet,
    "nested.parquet": write_nested,
    "saved": write_stream,
    "table.arrow": write_arrow_file,
}


def read(source: sources.Source, split: Split, place: int = 0) -> list[Document]:
    return list(corpus.documents(source, split, place))


@pytest.mark.parametrize("name", WRITERS)
def test_each_document_is_in_one_split(name: str, tmp_path: Path) -> None:
    source = sources.find(str(WRITERS[name](tmp_path / name)))
    splits = sources.splits(source)
    found = [read(source, split) for split in splits]
    assert sorted(document.text.decode() for part in found for document in part) == sorted(TEXTS)
    assert not any(document.problem for part in found for document in part)
    assert sum(1 for part in found if part) >= 10  # a few KB serve several ranks


@pytest.mark.parametrize("name", WRITERS)
def test_reading_goes_on_from_any_document(name: str, tmp_path: Path) -> None:
    source = sources.find(str(WRITERS[name](tmp_path / name)))
    for split in sources.splits(source)[::7]:
        whole = read(source, split)
        for index, document in enumerate(whole):
            assert read(source, split, document.place) == whole[index:]


@pytest.mark.parametrize("line", [b"short\n", b"lo" * 5000 + b"\n", "€".encode() * 50_000])
def test_long_text_is_cut_without_loss(line: bytes, tmp_path: Path) -> None:
    """At ends of lines where there are any, and never inside of a character."""
    text = b"x" + line * (2_600_000 // len(line))
    (tmp_path / "long.txt").write_bytes(text)
    source = sources.find(str(tmp_path / "long.txt"))
    documents = [document for split in sources.splits(source) for document in read(source, split)]
    assert b"".join(document.text for document in documents) == text
    assert len(documents) > 50
    for document in documents:
        document.text.decode()
    if line == b"short\n":
        assert all(document.text.endswith(b"\n") for document in documents)


def test_compressed_text(tmp_path: Path) -> None:
    text = b"a line of some text\n" * 200_000
    (tmp_path / "long.txt.gz").write_bytes(gzip.compress(text))
    source = sources.find(str(tmp_path / "long.txt.gz"))
    documents = [document for split in sources.splits(source) for document in read(source, split)]
    assert b"".join(text for _, text, _ in sorted(documents)) == text
    assert len(documents) == 4


def test_from_s3(s3: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    here = tmp_path / "data"
    here.mkdir()
    there = f"s3://bucket/{tmp_path.name}"
    for name in ("lines.jsonl", "lines.jsonl.gz", "table.parquet", "table.arrow"):
        path = WRITERS[name](here / name)
        system, key = storage.filesystem(f"{there}/{name}")
        with system.open_output_stream(key, compression=None) as file:
            file.write(path.read_bytes())
        source = sources.find(f"{there}/{name}")
        assert source.fingerprint == sources.find(str(path)).fingerprint
        texts = [text for split in sources.splits(source) for _, text, _ in read(source, split)]
        assert sorted(text.decode() for text in texts) == sorted(TEXTS)
    assert len(sources.find(there + "/").files) == 1  # of the folder's formats, Arrow
    expect("the data 's3://elsewhere/data' does not exist", "s3://elsewhere/data")


def test_stdlib_is_a_document_a_module() -> None:
    source = sources.find("stdlib")
    assert all(path.endswith(".py") for path, _ in source.files)
    documents = [document for split in sources.splits(source) for document in read(source, split)]
    assert len(documents) == len(source.files) > 100


def test_splits_grow_with_the_data(tmp_path: Path) -> None:
    counts = []
    for size in (4 << 10, 4 << 20, 4 << 30):
        with (tmp_path / "sparse.jsonl").open("wb") as file:
            file.truncate(size)
        counts.append(len(sources.splits(sources.find(str(tmp_path / "sparse.jsonl")))))
    assert counts == [4, 128, 4096]


def test_fingerprint_is_of_names_and_sizes(tmp_path: Path) -> None:
    first = sources.find(str(write_texts(tmp_path / "here")))
    moved = sources.find(str((tmp_path / "here").rename(tmp_path / "there")))
    assert first.fingerprint == moved.fingerprint
    with (tmp_path / "there" / "007.txt").open("a") as file:
        file.write("more")
    assert sources.find(str(tmp_path / "there")).fingerprint != first.fingerprint


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_held_back_is_apart(name: str, tmp_path: Path) -> None:
    source = sources.find(str(WRITERS[name](tmp_path / name)))
    training, held_back = sources.hold_back(sources.splits(source))
    texts = [
        {document.text for split in part for document in read(source, split)}
        for part in (training, held_back)
    ]
    assert texts[0] and texts[1]
    assert not texts[0] & texts[1]
    assert {text.decode() for text in texts[0] | texts[1]} == set(TEXTS)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_single_split_is_cut_to_hold_some_back(name: str, tmp_path: Path) -> None:
    text = lines_of(["one", "two"])
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    source = sources.find(str(tmp_path / name))
    training, held_back = sources.hold_back(sources.splits(source)[:1])
    both = [[document.text for document in read(source, split)] for split in training + held_back]
    assert len(both) == 2
    if name.endswith("gz"):
        assert both == [[b"one"], []]  # the first of 16 shares, in halves
    else:
        assert both == [[b"one"], [b"two"]]


BROKEN = {
    b"{": "not JSON: Expecting property name enclosed in double quotes at character 2",
    b"[1]": "not an object but a list",
    b'{"content": "x", "id": 3}': "no field 'text', has 'content', 'id'",
    b'{"text": 7}': "'text' is not text but a int",
    b'{"text": "\xff"}': "not UTF-8",
    b'{"text": "\\ud800"}': "'text' has half a surrogate pair",
    b"[" * 200_000: "not JSON: nested too deeply",
}


def test_broken_lines_are_told_apart(tmp_path: Path) -> None:
    good = b'{"text": "good"}'
    lines = [good, *BROKEN, b"", good]
    path = tmp_path / "broken.jsonl"
    path.write_bytes(b"\n".join(lines))
    source = sources.find(str(path))
    documents = [document for split in sources.splits(source) for document in read(source, split)]
    assert [document.problem for document in documents] == ["", *BROKEN.values(), ""]
    for document, line in zip(documents, [good, *BROKEN, good], strict=True):
        assert path.read_bytes()[document.place :].startswith(line)


def test_null_rows_are_broken(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"text": ["a", None, "", "b"]}), tmp_path / "a.parquet")
    source = sources.find(str(tmp_path / "a.parquet"))
    documents = [document for split in sources.splits(source) for document in read(source, split)]
    assert documents == [(0, b"a", ""), (1, b"", "'text' is null"), (3, b"b", "")]


def expect(message: str, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        source = sources.find(name)
        for split in sources.splits(source):
            read(source, split)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    expect(f"the data {missing!r} does not exist", missing)
    (tmp_path / "empty.txt").touch()
    expect("empty.txt' is empty", str(tmp_path / "empty.txt"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "picture.png").write_bytes(b"x")
    expect("no data in the folder", str(tmp_path / "folder"))
    (tmp_path / "false.parquet").write_bytes(b"text")
    expect("reading", str(tmp_path / "false.parquet"))
    (tmp_path / "false.arrow").write_bytes(b"text")
    expect("reading", str(tmp_path / "false.arrow"))
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(lines_of(TEXTS))[:-200])
    expect("cut.jsonl.gz", str(tmp_path / "cut.jsonl.gz"))
    expect("unknown kind of place", "gopher://somewhere")


def test_column_must_be_text(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    parquet.write_table(pa.table({"content": ["a"], "id": [1]}), path)
    expect("no column 'text' in", str(path))
    expect("it has 'content', 'id'", str(path))
    parquet.write_table(pa.table({"text": [1]}), path)
    expect("is not text but int64", str(path))


@pytest.mark.skipif(os.getuid() == 0, reason="root may read all files")
def test_no_permission(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    (tmp_path / "secret.txt").chmod(0)
    expect("access denied", str(tmp_path / "secret.txt"))


MEASURE = """
import resource, sys
from trainyard.data import corpus, sources
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
source = sources.find(sys.argv[1])
small = peak()
total = sum(len(text) for split in sources.splits(source)
            for _, text, _ in corpus.documents(source, split))
print(total, peak() - small)
"""


@pytest.mark.parametrize("name", ["large.txt", "large.jsonl", "large.jsonl.gz", "large.parquet"])
def test_memory_is_flat(name: str, tmp_path: Path) -> None:
    """200 MB of documents, read with less than a third of that."""
    path, text = tmp_path / name, "some text, " * 10_000
    if name.endswith("parquet"):
        # All different, so that no dictionary makes the column small; one row group.
        rows = pa.array([f"{number} {text}" for number in range(1800)])
        parquet.write_table(pa.table({"text": rows}), path, compression="zstd")
    else:
        block = lines_of([text]) * 100
        block = gzip.compress(block, 1) if name.endswith("gz") else block
        with path.open("wb") as file:
            file.writelines([block] * 18)
    run = [sys.executable, "-c", MEASURE, str(path)]
    output = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    total, grown = map(int, output.split())
    assert total > 190_000_000
    assert grown < 64  # MiB
