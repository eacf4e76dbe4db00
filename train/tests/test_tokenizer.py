"""Tokenizers: made here, as nothing can be downloaded in a test."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Settings

from trainyard.config import ConfigError
from trainyard.data import datainfo, tokenizer
from trainyard.data.reader import Reader

TEXTS = [
    b"def function(argument):\n    return argument\n",
    "grüße".encode(),
    b"",
    b"\xff bad",
    b"a b\n" * 3000 + b"z" * 3000,
]


def save_tokenizer(folder: Path, size: int = 400, **tokens: str) -> str:
    """A byte-level BPE of Python's own words, in a folder as `save_pretrained` leaves it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, special_tokens=["<end>"], show_progress=False
    )
    made.train_from_iterator(Path(json.__file__).read_text().splitlines(), trainer)
    wrapped: Any = PreTrainedTokenizerFast(tokenizer_object=made, **tokens)
    wrapped.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tokenizer(tmp_path_factory.mktemp("tokenizer"), eos_token="<end>")


def test_bytes() -> None:
    tokens, ends = tokenizer.ByteTokenizer().encode([b"ab", b"", b"\xff"])
    assert tokens.tolist() == [97, 98, 0, 0, 255, 0]
    assert tokens.dtype == np.int32
    assert ends.tolist() == [3, 4, 6]
    assert tokenizer.ByteTokenizer().encode([])[0].tolist() == []


def test_pretrained(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "LONGEST_TEXT", 1000)
    words = tokenizer.pretrained(folder)
    assert words.size == 400
    tokens, ends = words.encode(TEXTS)
    assert (len(tokens), len(ends)) == (ends[-1], len(TEXTS))
    begin = 0
    for text, end in zip(TEXTS, ends, strict=True):
        assert tokens[end - 1] == words.end_of_text
        assert words.backend.decode(tokens[begin : end - 1]) == text.decode(errors="replace")
        begin = end
    assert ends[0] < 30  # fewer than its bytes
    assert words.encode([])[0].tolist() == []


def test_a_text_has_the_same_tokens_alone(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a document could not be gone on with in the middle."""
    monkeypatch.setattr(tokenizer, "LONGEST_TEXT", 1000)
    words = tokenizer.pretrained(folder)
    tokens, ends = words.encode(TEXTS)
    alone = [words.encode([text])[0] for text in TEXTS]
    assert [part.tolist() for part in np.split(tokens, ends[:-1])] == [
        part.tolist() for part in alone
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "bytes"),
        (("--model", "qwen2.5-0.5b"), "bytes"),
        (("--model", "my.module:build"), "bytes"),
        (("--model", "some/model"), "some/model"),
        (("--model", "some/model", "--tokenizer", "other/one"), "other/one"),
        (("--model", "some/model", "--tokenizer", "bytes"), "bytes"),
    ],
)
def test_which_tokenizer(arguments: tuple[str, ...], expected: str, settings: Settings) -> None:
    assert tokenizer.name(settings(*arguments)) == expected


def test_reader_uses_it(folder: str, settings: Settings) -> None:
    config = settings("--model", "qwen2.5-0.5b", "--tokenizer", folder, "--data", "stdlib")
    assert datainfo.describe(config).tokenizer == folder
    with Reader(config, 0, 1) as reader:
        batches = list(itertools.islice(reader, 100))
    tokens = np.concatenate([batch.tokens.ravel() for batch in batches])
    assert 300 < tokens.max() < 400
    backend = tokenizer.pretrained(folder).backend
    assert "import" in backend.decode(tokens)


def expect(message: str, settings: Settings, *arguments: str) -> None:
    with pytest.raises(ConfigError) as caught:
        datainfo.describe(settings("--data", "stdlib", *arguments))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_used(
    folder: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect(
        f"tokenizer {folder!r} has 400 ids with its special tokens, and model 'tiny' a "
        "vocabulary of 256: ",
        settings,
        "--tokenizer",
        folder,
    )
    big = ("--model", "qwen2.5-0.5b", "--tokenizer")
    endless = save_tokenizer(tmp_path / "endless")
    expect("has no end-of-text token: name one as eos_token", settings, *big, endless)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "readme").touch()
    expect("the folder holds none, or a damaged one (readme)", settings, *big,
           str(tmp_path / "other"))  # fmt: skip
    expect("no such folder", settings, *big, "/no/such/folder")
    # Without a network, and without waiting for one.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    expect("loading the tokenizer of 'some/model': not found", settings, *big, "some/model")
    expect("loading the configuration of 'some/model': not found", settings,
           "--model", "some/model", "--tokenizer", folder)  # fmt: skip


def test_a_folder_without_the_files_of_its_tokenizer(tmp_path: Path, settings: Settings) -> None:
    """Transformers makes an empty tokenizer of the model's kind, and says nothing."""
    from transformers import Qwen2Config

    Qwen2Config(vocab_size=300).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match=r"makes nothing of a text: its files .* are missing"):
        tokenizer.load(settings("--model", str(tmp_path)))
