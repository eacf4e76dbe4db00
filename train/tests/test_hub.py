from __future__ import annotations

import socket

import pytest
from conftest import Settings

from trainyard import hub
from trainyard.config import ConfigError


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_nothing_to_reach(settings: Settings) -> None:
    nowhere = {"HF_ENDPOINT": "http://127.0.0.1:1"}
    for flags in (["--model", "qwen2.5-7b"], ["--model", "mine:build"], ["--tokenizer", "bytes"]):
        hub.check(settings(*flags), nowhere)


def test_unreachable(settings: Settings) -> None:
    nowhere = {"HF_ENDPOINT": "http://127.0.0.1:1"}
    with pytest.raises(
        ConfigError, match=r"^unknown model 'nobody/nothing': it is no preset \(tiny"
    ):
        hub.check(settings("--model", "nobody/nothing"), nowhere)
    with pytest.raises(ConfigError, match=r"^unknown tokenizer 'nobody/x'.*127.0.0.1 cannot be"):
        hub.check(settings("--tokenizer", "nobody/x"), nowhere)


def test_reachable(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        there = {"HF_ENDPOINT": f"http://127.0.0.1:{server.getsockname()[1]}"}
        hub.check(settings("--model", "nobody/nothing"), there)


def test_no_name_of_the_hub(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="'a/b/c' is no folder here, and no name of the hub"):
        hub.check(settings("--model", "a/b/c"), {})
