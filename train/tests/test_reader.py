"""Batches: each document once an epoch, for any number of ranks, stopped anywhere."""

from __future__ import annotations

import itertools
import json
import random
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from conftest import Settings
from pyarrow import parquet
from test_sources import WRITERS

from trainyard.config import ConfigError, TrainConfig
from trainyard.data import corpus, datainfo, lanes
from trainyard.data.lanes import Cursor
from trainyard.data.reader import Batch, Reader, merge_positions

Streams = dict[str, list[int]]


def write_lines(path: Path, texts: Sequence[str]) -> str:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return str(path)


def texts_of(count: int, seed: int = 0) -> list[str]:
    """Each different, of 3 to 90 bytes."""
    draw = random.Random(seed)
    return [f"{number}:" + "x" * draw.randrange(1, 85) for number in range(count)]


def advance(
    config: TrainConfig, world_size: int, batches: int, position: Any, streams: Streams
) -> Any:
    """Read some batches on every rank, into the tokens of each lane; the position after them."""
    positions = []
    for rank in range(world_size):
        with Reader(config, rank, world_size, position) as reader:
            batch = None
            for batch in itertools.islice(reader, batches):
                record(batch, streams)
            assert batch is not None
            positions.append(batch.position)
    return merge_positions(json.loads(json.dumps(positions)))


def record(batch: Batch, streams: Streams) -> None:
    """Append a batch of one row to its lane: the one that it advanced."""
    (row,) = batch.tokens.tolist()
    rows = {lane: cursor["rows"] for lane, cursor in batch.position["cursors"].items()}
    # A lane's rows overlap by a token.
    for lane, count in rows.items():
        stream = streams.setdefault(lane, [])
        have = (len(stream) - 1) // (len(row) - 1) if stream else 0
        if count == have + 1:
            assert not stream or stream[-1] == row[0]
            stream += row[1:] if stream else row
            return
    raise AssertionError("no lane is a row ahead")


def documents(batch: Batch) -> npt.NDArray[np.int32]:
    assert batch.documents is not None
    return batch.documents


def documents_of(stream: list[int]) -> list[str]:
    return [bytes(part).decode() for part in bytes(stream).split(b"\0")[:-1]]


def epoch_of(streams: Streams, texts: corpus.Corpus) -> list[str]:
    """The documents of the first epoch, of all lanes."""
    found = []
    for lane, stream in streams.items():
        work = texts.work(int(lane), len(streams), Cursor())
        mine = itertools.takewhile(lambda part: part.epoch == 0, work)
        count = sum(len(list(corpus.documents(texts.source, part.split))) for part in mine)
        documents = documents_of(stream)
        assert len(documents) >= count, "the lane has not been read to its end"
        found += documents[:count]
    return found


def one_row(settings: Settings, *arguments: str) -> TrainConfig:
    return settings("--batch-size", "1", *arguments)


@pytest.mark.parametrize("name", [*WRITERS, "stdlib"])
def test_each_document_once_an_epoch(name: str, settings: Settings, tmp_path: Path) -> None:
    data = name if name == "stdlib" else str(WRITERS[name](tmp_path / name))
    config = one_row(settings, "--data", data, "--seq-len", "4096" if name == "stdlib" else "64")
    texts = corpus.training(config)
    expected = [
        document.text.decode(errors="replace")
        for split in texts.splits
        for document in corpus.documents(texts.source, split)
    ]
    total = sum(len(text.encode()) + 1 for text in expected)
    streams: Streams = {}
    with Reader(config, 0, 1) as reader:
        for batch in itertools.islice(reader, 5000):
            record(batch, streams)
            if all(cursor["epoch"] > 0 for cursor in batch.position["cursors"].values()):
                break
    assert sorted(epoch_of(streams, texts)) == sorted(expected)
    # And no lane was far behind the others.
    assert sum(map(len, streams.values())) < 2 * total


@pytest.mark.parametrize("seed", range(12))
def test_stopped_anywhere_with_any_number_of_ranks(
    seed: int, settings: Settings, tmp_path: Path
) -> None:
    """What each lane gives never depends on how often, and with how many ranks, a run went on."""
    draw = random.Random(seed)
    texts = texts_of(draw.randrange(100, 400), seed)
    data = write_lines(tmp_path / "data.jsonl", texts)
    arguments = ["--data", data, "--seq-len", str(draw.choice((7, 16, 64)))]
    config = one_row(settings, *arguments, "--seed", str(seed))
    first = draw.choice((1, 2))
    position: Any = None
    streams = Streams()
    for world_size in [first, *draw.choices((1, 2, 3, 4), k=5)]:
        position = advance(config, world_size, draw.randrange(1, 40), position, streams)
    count = len(streams)

    uninterrupted = Streams()
    fresh = {"lanes": count, "cursors": {str(lane): vars(Cursor()) for lane in range(count)}}
    with Reader(config, 0, 1, fresh) as reader:
        for batch in itertools.islice(reader, count * max(map(len, streams.values()))):
            record(batch, uninterrupted)
            if all(len(uninterrupted.get(lane, ())) >= len(streams[lane]) for lane in streams):
                break
    for lane, stream in streams.items():
        assert stream == uninterrupted[lane][: len(stream)]


def test_same_world_size_goes_on_with_the_same_batches(settings: Settings, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data.jsonl", texts_of(300))
    config = settings("--data", data, "--batch-size", "3")
    with Reader(config, 1, 2) as reader:
        whole = list(itertools.islice(reader, 20))
    for stop in (1, 7, 19):
        positions = []
        for rank in range(2):
            with Reader(config, rank, 2) as reader:
                positions.append(list(itertools.islice(reader, stop))[-1].position)
        with Reader(config, 1, 2, merge_positions(positions)) as reader:
            for expected, batch in zip(whole[stop:], reader, strict=False):
                assert (batch.tokens == expected.tokens).all()
                assert np.array_equal(documents(batch), documents(expected))
                assert batch.position == expected.position


def test_rows_are_full_and_know_their_documents(settings: Settings, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data.jsonl", texts_of(300))
    with Reader(settings("--data", data), 0, 1) as reader:
        batch = next(reader)
    assert batch.tokens.shape == documents(batch).shape == (2, 17)
    assert batch.tokens.dtype == np.int64 and documents(batch).dtype == np.int32
    for row, numbers in zip(batch.tokens, documents(batch), strict=True):
        # A document ends with its 0, and the next begins.
        assert (numbers == np.cumsum(np.concatenate([[0], row[:-1] == 0]))).all()


def test_packing_is_exact(settings: Settings) -> None:
    parts = [np.arange(1, length + 1, dtype=np.int32) for length in (3, 4, 1, 9, 2)]
    stream = (lanes.Encoded(0, 0, place, part) for place, part in enumerate(parts))
    lane = lanes.TextLane(Cursor(), stream, seq_len=4)
    rows = [lane.row() for _ in range(4)]
    assert [row.tolist() for row, _ in rows] == [
        [1, 2, 3, 1, 2],
        [2, 3, 4, 1, 1],
        [1, 2, 3, 4, 5],
        [5, 6, 7, 8, 9],
    ]
    assert [documents.tolist() for _, documents in rows] == [
        [0, 0, 0, 1, 1],
        [0, 0, 0, 1, 2],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ]
    assert lane.cursor == Cursor(0, 0, 3, 8, 4)


def test_lanes_are_alike() -> None:
    sizes = [random.Random(1).randrange(1, 100) for _ in range(1000)]
    dealt = lanes.deal(sizes, 12, seed=3, epoch=5)
    assert sorted(itertools.chain(*dealt)) == list(range(1000))
    totals = [sum(sizes[split] for split in lane) for lane in dealt]
    assert max(totals) - min(totals) < 100
    assert dealt != lanes.deal(sizes, 12, seed=3, epoch=6)
    assert dealt == lanes.deal(sizes, 12, seed=3, epoch=5)


@pytest.mark.parametrize(
    ("splits", "world_size", "expected"),
    [(3, 2, 2), (4, 2, 4), (30, 2, 8), (134, 2, 16), (10_000, 2, 24), (10_000, 64, 768), (1, 2, 0)],
)
def test_lane_count(splits: int, world_size: int, expected: int) -> None:
    assert lanes.lane_count(splits, world_size) == expected


def test_data_held_back_is_never_trained_on(settings: Settings, tmp_path: Path) -> None:
    texts = texts_of(300)
    data = write_lines(tmp_path / "data.jsonl", texts)
    config = one_row(settings, "--data", data)
    trained: set[str] = set()
    held_back: set[str] = set()
    for rank in range(2):
        for wanted, seen in ((False, trained), (True, held_back)):
            streams = Streams()
            with Reader(config, rank, 2, held_back=wanted) as reader:
                for batch in itertools.islice(reader, 1500):
                    record(batch, streams)
            for stream in streams.values():
                seen |= set(documents_of(stream))
    assert not trained & held_back
    assert trained | held_back == set(texts)
    assert 0 < len(held_back) < 40


def test_eval_data(settings: Settings, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data.jsonl", texts_of(100))
    other = write_lines(tmp_path / "other.jsonl", ["held back " * 20])
    config = settings("--data", data, "--eval-data", other)
    with Reader(config, 5, 7, held_back=True) as reader:  # more ranks than splits
        assert b"held back" in bytes(next(reader).tokens[0].tolist())
    texts = corpus.training(config)
    read = {
        document.text.decode()
        for split in texts.splits
        for document in corpus.documents(texts.source, split)
    }
    assert read == set(texts_of(100))


def test_random_tokens(settings: Settings) -> None:
    config = settings("--data", "random", "--model", "qwen2.5-0.5b", "--seq-len", "64")
    batches = []
    for rank in (0, 1):
        with Reader(config, rank, 2) as reader:
            batches.append(list(itertools.islice(reader, 5)))
    first, second = batches
    assert first[0].documents is None
    assert not (first[0].tokens == second[0].tokens).all()
    assert first[0].tokens.max() > 100_000 and first[0].tokens.max() < 151_936
    middle = merge_positions([first[2].position, second[2].position])
    with Reader(config, 1, 2, middle) as reader:
        assert (next(reader).tokens == second[3].tokens).all()
    with pytest.raises(ConfigError, match="random tokens have no part to hold back"):
        Reader(config, 0, 1, held_back=True)


def test_broken_lines_are_counted(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    lines = [json.dumps({"text": text}) for text in texts_of(100)]
    lines[10:10] = ["{", '{"body": 1}', '{"text": 1}', "[]"]
    path.write_text("\n".join(lines))
    config = one_row(settings, "--data", str(path))
    with Reader(config, 0, 1) as reader:
        for batch in itertools.islice(reader, 1000):
            if all(cursor["epoch"] > 0 for cursor in batch.position["cursors"].values()):
                break
        assert reader.broken >= 4
        assert len(reader.broken_examples) == 3
        assert f"{str(path)!r}, line at byte " in reader.broken_examples[0]
    config = settings("--data", str(path), "--broken-lines", "fail")
    with Reader(config, 0, 1) as reader, pytest.raises(ConfigError, match="line at byte"):
        list(itertools.islice(reader, 1000))


def expect(message: str, config: TrainConfig) -> None:
    """Both the driver and the workers say so."""
    for ask in (
        lambda: datainfo.describe(config),
        lambda: next(Reader(config, 0, config.num_workers)),
    ):
        with pytest.raises(ConfigError) as caught:
            ask()
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_too_little_data(settings: Settings, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data.jsonl", texts_of(40))
    ranks = ("--data", data, "--num-workers", "2")
    expect("--seq-len 4000 is longer than the data:", settings(*ranks, "--seq-len", "4000"))
    expect(
        "rows of 100 tokens to train on, and one step of 2 workers x 30 needs 60",
        settings(*ranks, "--seq-len", "100", "--batch-size", "10", "--accumulate", "3"),
    )
    expect("too few for 50 workers", settings("--data", data, "--num-workers", "50"))


def test_nothing_to_read(settings: Settings, tmp_path: Path) -> None:
    one = ("--num-workers", "1", "--data")
    expect("does not exist", settings(*one, str(tmp_path / "missing.txt")))
    (tmp_path / "broken.jsonl").write_text("{\n" * 2000)
    expect("no document can be read of", settings(*one, str(tmp_path / "broken.jsonl")))
    parquet.write_table(pa.table({"text": [""] * 100}), tmp_path / "blank.parquet")
    expect("no document can be read of", settings(*one, str(tmp_path / "blank.parquet")))


def test_more_ranks_than_lanes(settings: Settings, tmp_path: Path) -> None:
    config = one_row(settings, "--data", write_lines(tmp_path / "data.jsonl", texts_of(300)))
    position = advance(config, 1, 3, None, Streams())
    with pytest.raises(ConfigError, match=r"5 workers cannot go on .* at most 4 workers"):
        Reader(config, 0, 5, position)


def test_describe(settings: Settings, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data.jsonl", texts_of(100))
    about = datainfo.describe(settings("--data", data))
    assert about.name == data
    assert (about.format, about.files, about.tokenizer) == ("JSONL", 1, "bytes")
    assert about.bytes == Path(data).stat().st_size
    assert about.held_back == data
    other = datainfo.describe(settings("--data", data, "--eval-data", data))
    assert other.fingerprint != about.fingerprint  # nothing is held back of it
    random_ids = datainfo.describe(settings("--data", "random"))
    assert (random_ids.bytes, random_ids.held_back) == (None, "")


def test_a_few_kilobytes_serve_two_ranks(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text("a line of text\n" * 200)
    config = settings("--data", str(tmp_path / "small.txt"), "--num-workers", "2")
    datainfo.describe(config)
    for rank in range(2):
        with Reader(config, rank, 2) as reader:
            assert len(list(itertools.islice(reader, 200))) == 200


def test_closing_ends_the_thread(settings: Settings) -> None:
    before = set(threading.enumerate())
    reader = Reader(settings(), 0, 1)
    assert set(threading.enumerate()) == before  # none before the first batch
    next(reader)
    assert len(set(threading.enumerate()) - before) == 1
    reader.close()
    assert set(threading.enumerate()) == before
    reader.close()
    with pytest.raises(StopIteration):
        next(reader)
