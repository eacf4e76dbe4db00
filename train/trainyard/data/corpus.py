"""A corpus: the splits that a run reads, the order it reads them in, and their tokens."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trainyard.checkpoint import storage
from trainyard.config import ConfigError, TrainConfig
from trainyard.data import formats, lines, sources, tables
from trainyard.data.formats import Document, Split
from trainyard.data.lanes import Cursor, Encoded, deal
from trainyard.data.sources import Source
from trainyard.data.tokenizer import Tokenizer

GROUP_BYTES = 1 << 18  # documents are tokenized together, up to these limits
GROUP_DOCUMENTS = 1024
EMPTY_EPOCHS = 100  # of a lane, after which there is nothing to hope for
EXAMPLES = 3  # of broken lines that are kept


class Work(NamedTuple):
    """A split that a lane is to read, from the document that begins at `document` on."""

    lane: int
    epoch: int
    ordinal: int  # of the lane's splits in this epoch
    split: Split
    document: int


class Group(NamedTuple):
    """Some documents of a split, in order, as tokens."""

    places: npt.NDArray[np.int64]  # [documents]
    ends: npt.NDArray[np.int64]  # [documents]: where each ends in tokens
    tokens: npt.NDArray[np.int32]
    broken: list[Document]


class Corpus:
    """What one kind of reading, training or evaluation, reads of a source."""

    def __init__(self, source: Source, splits: Sequence[Split], seed: int) -> None:
        self.source = source
        self.splits = splits
        self._seed = seed
        self._dealt: dict[tuple[int, int], list[list[int]]] = {}

    @property
    def most_tokens(self) -> int | None:
        """More tokens are not in the splits; None where only reading them tells."""
        if self.source.compressed or self.source.format in (formats.PARQUET, formats.ARROW):
            return None
        return sum(split.size for split in self.splits) + len(self.source.files)

    def work(self, lane: int, lanes: int, cursor: Cursor) -> Iterator[Work]:
        """All that a lane has left to read, epoch after epoch, without end."""
        epoch, ordinal, document = cursor.epoch, cursor.split, cursor.document
        while True:
            mine = self._deal(lanes, epoch)[lane]
            while ordinal < len(mine):
                yield Work(lane, epoch, ordinal, self.splits[mine[ordinal]], document)
                ordinal, document = ordinal + 1, 0
            epoch, ordinal = epoch + 1, 0

    def _deal(self, lanes: int, epoch: int) -> list[list[int]]:
        dealt = self._dealt.get((lanes, epoch))
        if dealt is None:
            # Lanes go from epoch to epoch nearly together, in more than one thread.
            for old in sorted(self._dealt)[:-3]:
                self._dealt.pop(old, None)
            sizes = [split.size for split in self.splits]
            dealt = self._dealt[lanes, epoch] = deal(sizes, lanes, self._seed, epoch)
        return dealt


def training(config: TrainConfig) -> Corpus:
    """What is trained on. Raises ConfigError if there is nothing to read."""
    source = sources.find(config.data)
    everything = sources.splits(source)
    mine = everything if config.eval_data else sources.hold_back(everything)[0]
    return Corpus(source, mine, config.seed)


def held_back(config: TrainConfig) -> Corpus:
    """What training never sees. Raises ConfigError if there is nothing to read."""
    source = sources.find(config.eval_data or config.data)
    everything = sources.splits(source)
    mine = everything if config.eval_data else sources.hold_back(everything)[1]
    return Corpus(source, mine, config.seed)


READERS = {
    formats.TEXT: lines.text,
    formats.JSONL: lines.jsonl,
    formats.PARQUET: tables.rows_of_parquet,
    formats.ARROW: tables.rows_of_arrow,
}


def documents(source: Source, split: Split, place: int = 0) -> Iterator[Document]:
    """The documents of a split, from the one that begins at place; empty ones are left out.

    Raises ConfigError if the file cannot be read.
    """
    doing = f"reading {split.path!r} of"
    with storage.explained(doing, source.uri), tables.arrow_errors(split.path):
        system = storage.filesystem(source.uri)[0]
        for document in READERS[source.format](system, split, place):
            if document.text or document.problem:
                yield document


def groups(source: Source, work: Work, tokenizer: Tokenizer) -> Iterator[Group]:
    """Read and tokenize a split."""
    places: list[int] = []
    texts: list[bytes] = []
    broken: list[Document] = []
    size = 0
    for document in documents(source, work.split, work.document):
        if document.problem:
            broken.append(document)
            continue
        places.append(document.place)
        texts.append(document.text)
        size += len(document.text)
        if size >= GROUP_BYTES or len(texts) >= GROUP_DOCUMENTS:
            yield _group(places, texts, broken, tokenizer)
            places, texts, broken, size = [], [], [], 0
    if texts or broken:
        yield _group(places, texts, broken, tokenizer)


def _group(
    places: list[int], texts: list[bytes], broken: list[Document], tokenizer: Tokenizer
) -> Group:
    tokens, ends = tokenizer.encode(texts)
    return Group(np.array(places, np.int64), ends, tokens, broken)


class BrokenLines:
    """Counts what cannot be read, and keeps the first examples."""

    def __init__(self, policy: str) -> None:
        self.count = 0
        self.examples: list[str] = []
        self._policy = policy

    def note(self, source: Source, split: Split, document: Document) -> None:
        """Raises ConfigError if the run is to fail on it."""
        rows = source.format in (formats.PARQUET, formats.ARROW)
        unit = "row" if rows else "line at byte"
        example = f"{split.path!r}, {unit} {document.place}: {document.problem}"
        if self._policy == "fail":
            raise ConfigError(f"broken data: {example}; mend it, or give --broken-lines skip")
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)


def encoded(
    source: Source, parts: Iterator[tuple[Work, Iterator[Group]]], broken: BrokenLines
) -> Generator[Encoded, None, None]:
    """A lane's documents, one by one, from its splits.

    Raises ConfigError if there are none, epoch after epoch.
    """
    seen = -1  # the last epoch with a document
    for work, groups_of_split in parts:
        if seen < 0:
            seen = work.epoch - 1
        if work.epoch - seen > EMPTY_EPOCHS:
            raise ConfigError(no_documents(source, broken))
        for group in groups_of_split:
            for document in group.broken:
                broken.note(source, work.split, document)
            begin = 0
            for place, end in zip(group.places.tolist(), group.ends.tolist(), strict=True):
                seen = work.epoch
                yield Encoded(work.epoch, work.ordinal, place, group.tokens[begin:end])
                begin = end


def no_documents(source: Source, broken: BrokenLines) -> str:
    why = f": {broken.examples[0]}" if broken.examples else ""
    return f"no document can be read of {source.uri!r}{why}"
