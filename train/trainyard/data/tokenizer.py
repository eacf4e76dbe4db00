"""Text as token ids: by a Hugging Face tokenizer, or byte by byte."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trainyard.config import BYTES, ConfigError, TrainConfig, is_hook
from trainyard.presets import PRESETS

Tokens = npt.NDArray[np.int32]
Ends = npt.NDArray[np.int64]

# A tokenizer keeps some hundred bytes for each token until a text is done, so
# that long ones are cut, at a line's end if there is one.
LONGEST_TEXT = 1 << 18  # characters
BYTE_VALUES = 256


class Tokenizer(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int:
        """Ids are below it."""

    @property
    def fingerprint(self) -> str: ...

    def encode(self, texts: Sequence[bytes]) -> tuple[Tokens, Ends]:
        """The tokens of UTF-8 texts, each with an end-of-text token, one text after another.

        Returns them, and the index at which each text ends.
        """


@dataclass(frozen=True)
class ByteTokenizer:
    """The bytes of a text, and 0 for its end."""

    name: str = BYTES
    size: int = BYTE_VALUES
    fingerprint: str = BYTES

    def encode(self, texts: Sequence[bytes]) -> tuple[Tokens, Ends]:
        joined = b"".join(part for text in texts for part in (text, b"\0"))
        lengths = np.fromiter((len(text) + 1 for text in texts), np.int64, len(texts))
        return np.frombuffer(joined, np.uint8).astype(np.int32), np.cumsum(lengths)


@dataclass(frozen=True)
class FastTokenizer:
    """A tokenizer of the `tokenizers` library, without the special tokens it may add."""

    name: str
    size: int
    end_of_text: int
    backend: Any  # tokenizers.Tokenizer

    @property
    def fingerprint(self) -> str:
        """Changes with the vocabulary, and so with the number of tokens in a text."""
        known = repr((self.end_of_text, sorted(self.backend.get_vocab().items())))
        return hashlib.blake2b(known.encode(), digest_size=16).hexdigest()

    def encode(self, texts: Sequence[bytes]) -> tuple[Tokens, Ends]:
        pieces: list[str] = []
        last = []  # piece of each text
        for text in texts:
            pieces += _pieces(text.decode(errors="replace"))
            last.append(len(pieces) - 1)
        ids = [
            encoding.ids
            for encoding in self.backend.encode_batch_fast(pieces, add_special_tokens=False)
        ]
        for index in last:
            ids[index] = [*ids[index], self.end_of_text]
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        tokens = np.fromiter(itertools.chain.from_iterable(ids), np.int32, int(lengths.sum()))
        return tokens, np.cumsum(lengths)[last]


def _pieces(text: str) -> list[str]:
    pieces = []
    while len(text) > LONGEST_TEXT:
        cut = text.rfind("\n", 0, LONGEST_TEXT) + 1 or LONGEST_TEXT
        pieces.append(text[:cut])
        text = text[cut:]
    return [*pieces, text]


def name(config: TrainConfig) -> str:
    """The tokenizer of a run: the one asked for, the model's own, or BYTES."""
    if config.tokenizer:
        return config.tokenizer
    return BYTES if config.model in PRESETS or is_hook(config.model) else config.model


def load(config: TrainConfig) -> Tokenizer:
    """The tokenizer of a run.

    Raises ConfigError if it cannot be had, or has more ids than the model.
    """
    chosen = name(config)
    tokenizer = ByteTokenizer() if chosen == BYTES else pretrained(chosen)
    vocabulary = vocabulary_size(config)
    if vocabulary is not None and tokenizer.size > vocabulary:
        raise ConfigError(
            f"tokenizer {chosen!r} has {tokenizer.size} ids with its special tokens, and model "
            f"{config.model!r} a vocabulary of {vocabulary}: give the model's own tokenizer"
        )
    return tokenizer


def pretrained(source: str) -> FastTokenizer:
    """A tokenizer of the Hugging Face hub, or of a folder."""
    from transformers import AutoTokenizer

    try:
        found: Any = AutoTokenizer.from_pretrained(source)
    except Exception as error:  # transformers and the hub raise what they like
        raise ConfigError(_problem("tokenizer", source, error)) from error
    if not found.is_fast:
        raise ConfigError(
            f"tokenizer {source!r} has no fast version (tokenizer.json): convert it, or give "
            "another one with --tokenizer"
        )
    if found.eos_token_id is None:
        raise ConfigError(
            f"tokenizer {source!r} has no end-of-text token: name one as eos_token in its "
            "tokenizer_config.json"
        )
    if not found("trainyard", add_special_tokens=False)["input_ids"]:
        raise ConfigError(
            f"tokenizer {source!r} makes nothing of a text: its files (tokenizer.json) are "
            "missing; give another one with --tokenizer"
        )
    backend = found.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    size = 1 + max(found.get_vocab().values())
    return FastTokenizer(source, size, found.eos_token_id, backend)


def vocabulary_size(config: TrainConfig) -> int | None:
    """The number of ids that the model takes; None for a model of the user's own."""
    if config.model in PRESETS:
        return PRESETS[config.model].vocab_size
    if is_hook(config.model):
        return None
    from transformers import AutoConfig

    try:
        about: Any = AutoConfig.from_pretrained(config.model)
        return int(about.get_text_config().vocab_size)
    except Exception as error:
        raise ConfigError(_problem("configuration", config.model, error)) from error


def _problem(kind: str, source: str, error: Exception) -> str:
    """One line about what could not be loaded of a model or tokenizer."""
    doing = f"loading the {kind} of {source!r}"
    if Path(source).is_dir():
        present = ", ".join(sorted(path.name for path in Path(source).iterdir())[:8])
        return f"{doing}: the folder holds none, or a damaged one ({present or 'it is empty'})"
    if Path(source).is_absolute() or source.startswith("."):
        return f"{doing}: no such folder"
    cause = str(error).strip().partition("\n")[0]
    return (
        f"{doing}: not found on the hub, not allowed, or no network; check the name, log in with "
        f"`hf auth login`, or give a folder ({cause})"
    )
