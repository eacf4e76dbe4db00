"""Places on disk and on a real S3 server, and what is said when they fail."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from trainyard.checkpoint import storage
from trainyard.config import ConfigError


@pytest.fixture(params=["path", "file", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "path":
        return str(tmp_path)
    if request.param == "file":
        return f"file://{tmp_path}"
    for name, value in request.getfixturevalue("s3").items():
        monkeypatch.setenv(name, value)
    return f"s3://bucket/{tmp_path.name}"


def test_files(place: str) -> None:
    folder = storage.join(place, "a/b")
    storage.make_dir(folder)
    storage.write_bytes(storage.join(folder, "old"), b"1")
    storage.write_bytes(storage.join(folder, "old"), b"22")
    with storage.open_write(storage.join(folder, "new")) as file:
        file.write(b"3")
        file.write(b"4")
    assert storage.listdir(folder) == ["new", "old"]
    assert storage.read_bytes(storage.join(folder, "old")) == b"22"
    assert storage.read_bytes(storage.join(folder, "new")) == b"34"
    assert storage.exists(folder)

    storage.delete(storage.join(folder, "old"))
    storage.delete(storage.join(folder, "old"))
    assert storage.listdir(folder) == ["new"]
    storage.delete(storage.join(place, "a"))
    assert not storage.exists(folder)
    with pytest.raises(FileNotFoundError):
        storage.listdir(folder)
    with pytest.raises(FileNotFoundError):
        storage.read_bytes(storage.join(folder, "old"))


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    file = str(tmp_path / "file")
    storage.write_bytes(file, b"whole")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with (
            pytest.raises(ConfigError, match=r"saving '.*file': file too large for the limits"),
            storage.explained("saving", file),
        ):
            storage.write_bytes(file, bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert storage.read_bytes(file) == b"whole"
    assert storage.listdir(str(tmp_path)) == ["file"]


@contextlib.contextmanager
def denied(s3: dict[str, str]) -> Iterator[None]:
    """The server asks for credentials that it knows, and knows none."""
    for requests in (b"0", b"1000000"):
        url = s3["AWS_ENDPOINT_URL"] + "/moto-api/reset-auth"
        urlopen(Request(url, requests, {"Content-Type": "text/plain"})).close()
        if requests == b"0":
            yield


def told(place: str) -> str:
    """What a user reads who writes there."""
    with (
        pytest.raises(ConfigError) as caught,
        storage.explained("writing", place),
        storage.open_write(place) as file,
    ):
        file.write(b"x")
    text = str(caught.value)
    assert text.startswith(f"writing {place!r}: ")
    assert "\n" not in text
    return text.removeprefix(f"writing {place!r}: ")


def test_local_problems() -> None:
    assert told("/nowhere/x") == "not found"
    assert told("/dev/null/x") == "not found: a part of the path is a file"
    assert told("/dev/full").startswith("no space left: ")


def test_s3_problems(s3: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    assert told("s3://absent/x").startswith("no such bucket: ")
    with denied(s3):
        assert told("s3://bucket/x").startswith("access denied, the access key is unknown: set ")
        with (
            pytest.raises(ConfigError, match="access denied: set AWS_ACCESS_KEY_ID"),
            storage.explained("reading", "s3://bucket/x"),
        ):
            storage.read_bytes("s3://bucket/x")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert told("s3://bucket/x").startswith("http://127.0.0.1:1 cannot be reached: ")


def test_unknown_places() -> None:
    with pytest.raises(ConfigError, match="no bucket in 's3:///x'"):
        storage.exists("s3:///x")
    with pytest.raises(ConfigError, match="unknown kind of place 'ftp://x'"):
        storage.exists("ftp://x")
