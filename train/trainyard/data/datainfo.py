"""What the driver finds out about the data before any worker starts."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass

from trainyard.config import RANDOM, ConfigError, TrainConfig
from trainyard.data import corpus, tokenizer
from trainyard.data.corpus import BrokenLines, Corpus

PROBED = 1000  # documents that may be broken before there is nothing to hope for


@dataclass(frozen=True)
class DataInfo:
    """What a run reads, in the words that it is shown with."""

    name: str
    format: str  # text, JSONL, Parquet, Arrow, or random
    files: int
    bytes: int | None  # as they are stored; None: random tokens
    tokenizer: str  # its name, BYTES, or "" for random tokens
    held_back: str  # the source of evaluation; "" if there is none
    fingerprint: str  # a position means the same only where this is the same


def describe(config: TrainConfig) -> DataInfo:
    """Look at the data and the tokenizer without reading more than a few documents.

    Raises ConfigError for what is missing, empty, not readable, or too short for
    one step of config.num_workers.
    """
    evaluation = config.eval_data or ("" if config.data == RANDOM else config.data)
    if config.data == RANDOM:
        _probe_evaluation(config, evaluation)
        vocabulary = random_vocabulary(config)
        return DataInfo(RANDOM, RANDOM, 0, None, "", evaluation, _hash(RANDOM, vocabulary))
    texts = corpus.training(config)
    check_length(config, texts, max(1, config.num_workers))
    probe(texts)
    _probe_evaluation(config, evaluation)
    words = tokenizer.load(config)
    source = texts.source
    # Without data of its own for evaluation, a part of the splits is left out.
    everything = config.eval_data is not None
    return DataInfo(
        name=config.data,
        format=source.format,
        files=len(source.files),
        bytes=source.size,
        tokenizer=words.name,
        held_back=evaluation,
        fingerprint=_hash(source.fingerprint, words.fingerprint, everything),
    )


def _probe_evaluation(config: TrainConfig, source: str) -> None:
    if source and config.eval_every:
        hint = "; it is for evaluation: give --eval-data, or --eval-every 0"
        probe(corpus.held_back(config), hint)


def _hash(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def random_vocabulary(config: TrainConfig) -> int:
    """The ids that random tokens are below: the model's, else the tokenizer's."""
    return tokenizer.vocabulary_size(config) or tokenizer.load(config).size


def probe(texts: Corpus, hint: str = "") -> None:
    """Raises ConfigError if the first documents cannot be read."""
    broken = BrokenLines("skip")
    source = texts.source
    found = (
        (split, document) for split in texts.splits for document in corpus.documents(source, split)
    )
    for split, document in itertools.islice(found, PROBED):
        if not document.problem:
            return
        broken.note(source, split, document)
    raise ConfigError(corpus.no_documents(source, broken) + hint)


def check_length(config: TrainConfig, texts: Corpus, world_size: int) -> None:
    """Raises ConfigError if the data is too short for one step of all ranks."""
    if len(texts.splits) < world_size:
        raise ConfigError(
            f"the data {config.data!r} can be cut into {len(texts.splits)} pieces to train on, "
            f"too few for {world_size} workers: give more files, or take fewer workers"
        )
    if texts.most_tokens is None:
        return
    rows = max(0, texts.most_tokens - 1) // config.seq_len
    needed = world_size * config.batch_size * config.accumulate
    if not rows:
        raise ConfigError(
            f"--seq-len {config.seq_len} is longer than the data: {texts.most_tokens} bytes"
        )
    if rows < needed:
        raise ConfigError(
            f"the data has {rows} rows of {config.seq_len} tokens to train on, and one step of "
            f"{world_size} workers x {config.batch_size * config.accumulate} needs {needed}"
        )
