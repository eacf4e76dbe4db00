"""Files on a local path, on S3 and on the Hugging Face hub, through pyarrow.

Places are named by URI: a plain path, file://, s3://bucket/path or, to read,
hf://datasets/org/name[@revision]/path. Credentials and region come from where the
AWS tools take them, another S3 server's address from AWS_ENDPOINT_URL.

The functions raise OSError as the file system reports it, FileNotFoundError for
what is not there. `explained` and `problem` make one line of it that says what to do.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from pyarrow import fs

from trainyard.config import ConfigError

S3_ATTEMPTS = 3
ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")


class UnreachableError(ConfigError):
    """A server did not answer; it may when asked again."""


def filesystem(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a URI, and the path in it.

    Raises ConfigError for a kind of URI that is not known, OSError where S3 does
    not know the bucket.
    """
    scheme, separator, path = uri.partition("://")
    if not separator:
        return fs.LocalFileSystem(), os.path.abspath(uri)
    if scheme == "file":
        return fs.LocalFileSystem(), unquote(urlsplit(uri).path)
    if scheme == "s3":
        bucket = path.partition("/")[0]
        if not bucket:
            raise ConfigError(f"no bucket in {uri!r}: write s3://bucket/path")
        return _s3(bucket, _variable(ENDPOINT_VARIABLES), _variable(REGION_VARIABLES)), path
    if scheme == "hf":
        return _hub(), path
    raise ConfigError(f"unknown kind of place {uri!r}: give a path, s3://, or hf:// for data")


@functools.lru_cache
def _s3(bucket: str, endpoint: str | None, region: str | None) -> fs.FileSystem:
    if not endpoint and not region:
        region = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(
        region=region,
        # Arrow looks for the variable when it is loaded and no more.
        endpoint_override=endpoint,
        # One try takes seconds where nothing answers, and backs off in between.
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=S3_ATTEMPTS),
        # A small file is one request, which also finds out whether it may be made.
        allow_delayed_open=True,
    )


@functools.lru_cache
def _hub() -> fs.FileSystem:
    from huggingface_hub import HfFileSystem

    return fs.PyFileSystem(fs.FSSpecHandler(HfFileSystem()))


def _variable(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def is_local(uri: str) -> bool:
    return "://" not in uri or uri.startswith("file://")


def join(uri: str, name: str) -> str:
    return f"{uri.rstrip('/')}/{name}"


def exists(uri: str) -> bool:
    """Whether a file is there, or a folder, which on S3 needs a file in it."""
    system, path = filesystem(uri)
    return bool(system.get_file_info(path).type != fs.FileType.NotFound)


def listdir(uri: str) -> list[str]:
    """The names in a folder, sorted; raises FileNotFoundError if it is not there."""
    system, path = filesystem(uri)
    return sorted(info.base_name for info in system.get_file_info(fs.FileSelector(path)))


def read_bytes(uri: str) -> bytes:
    system, path = filesystem(uri)
    with system.open_input_stream(path) as file:
        return bytes(file.read())


def write_bytes(uri: str, data: bytes) -> None:
    """Write a file that is complete, and on the disk, or not there.

    The folder must exist, except on S3, where the file is one upload.
    """
    system, path = filesystem(uri)
    if is_local(uri):
        _replace(Path(path), data)
        return
    with system.open_output_stream(path) as file:
        file.write(data)


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


@contextlib.contextmanager
def open_write(uri: str) -> Iterator[BinaryIO]:
    """A file to write bit by bit; when closed it is on the disk, or uploaded.

    One that an error interrupts may be there in part.
    """
    system, path = filesystem(uri)
    if not is_local(uri):
        with system.open_output_stream(path) as stream:
            yield stream
        return
    with Path(path).open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def sync(folder: Path) -> None:
    """Wait until the names in a local folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_dir(uri: str) -> None:
    """Make a folder and those above it. S3 has none, and needs none."""
    if not uri.startswith("s3://"):
        system, path = filesystem(uri)
        system.create_dir(path)


def delete(uri: str) -> None:
    """Delete a file or a whole folder; it is fine if nothing is there."""
    system, path = filesystem(uri)
    kind = system.get_file_info(path).type
    with contextlib.suppress(FileNotFoundError):
        if kind == fs.FileType.Directory:
            system.delete_dir(path)
        elif kind != fs.FileType.NotFound:
            system.delete_file(path)


@contextlib.contextmanager
def explained(doing: str, uri: str) -> Iterator[None]:
    """Turns an OSError into the ConfigError that problem makes of it."""
    try:
        yield
    except ConfigError:
        raise
    except Exception as error:
        # The hub's client has errors of its own, and those of its HTTP library.
        if isinstance(error, OSError) or uri.startswith("hf://"):
            raise problem(doing, uri, error) from error
        raise


def problem(doing: str, uri: str, error: Exception) -> ConfigError:
    """One line about an error at a place: what was done, the cause, what to do next."""
    text = f"{doing} {uri!r}: {_local_cause(error) or _remote_cause(uri, error)}"
    unreachable = "AWS Error NETWORK_CONNECTION" in str(error)
    return UnreachableError(text) if unreachable else ConfigError(text)


_LOCAL = {
    errno.ENOENT: "not found",
    errno.ENOTDIR: "not found: a part of the path is a file",
    errno.ENOSPC: "no space left: make room, lower --keep-checkpoints, or name another place",
    errno.EDQUOT: "over the disk quota: make room, lower --keep-checkpoints, or name another place",
    errno.EFBIG: "file too large for the limits here: raise `ulimit -f`, or name another place",
    errno.EROFS: "read-only file system: name another place",
    errno.EACCES: "access denied: change its permissions, or name another place",
    errno.EPERM: "access denied: change its permissions, or name another place",
}

# What Arrow puts between "AWS Error" and "during", and what it means to a user.
_CREDENTIALS = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY on all nodes, or give them a role "
    "that may use the bucket"
)
_REMOTE = {
    "NO_SUCH_BUCKET": "no such bucket: make it, or correct its name",
    "NO_SUCH_KEY": "not found",
    "RESOURCE_NOT_FOUND": "not found",
    "ACCESS_DENIED": f"access denied: {_CREDENTIALS}",
    "INVALID_ACCESS_KEY_ID": f"access denied, the access key is unknown: {_CREDENTIALS}",
    "INVALID_CLIENT_TOKEN_ID": f"access denied, the access key is unknown: {_CREDENTIALS}",
    "SIGNATURE_DOES_NOT_MATCH": f"access denied, the secret key is wrong: {_CREDENTIALS}",
    "EXPIRED_TOKEN": "access denied, the credentials have expired: renew them",
    "MISSING_AUTHENTICATION_TOKEN": f"access denied: {_CREDENTIALS}",
}


def _local_cause(error: Exception) -> str | None:
    return _LOCAL.get(error.errno) if isinstance(error, OSError) and error.errno else None


def _remote_cause(uri: str, error: Exception) -> str:
    text = " ".join(str(error).split())
    code = re.search(r"AWS Error (\w+)", text)
    if code and code[1] in _REMOTE:
        return _REMOTE[code[1]]
    if code and code[1] == "NETWORK_CONNECTION":
        server = _variable(ENDPOINT_VARIABLES) or "S3"
        return f"{server} cannot be reached: check AWS_ENDPOINT_URL, AWS_REGION and the network"
    if code and "301" in text:
        return "the bucket is in another region: set AWS_REGION to it"
    if re.fullmatch("Bucket '.*' not found", text):
        return _REMOTE["NO_SUCH_BUCKET"]
    if uri.startswith("hf://") and "Connect" in type(error).__name__:
        return "the hub cannot be reached: check the network, or give a local copy"
    return re.sub(r" \(Request ID: [^)]*\)", "", text) or type(error).__name__
