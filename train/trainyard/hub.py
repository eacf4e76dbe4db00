"""Whether Hugging Face's hub can be asked at all: its client tries for a minute."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from trainyard.config import BYTES, ConfigError, TrainConfig, is_hook
from trainyard.presets import PRESETS

SECONDS = 5.0


def check(config: TrainConfig, environ: Mapping[str, str] = os.environ) -> None:
    """Raises ConfigError if a model or tokenizer is neither here nor within reach."""
    if config.model not in PRESETS and not is_hook(config.model):
        reach("model", config.model, environ)
    if config.tokenizer not in (None, BYTES):
        reach("tokenizer", str(config.tokenizer), environ)


def reach(kind: str, name: str, environ: Mapping[str, str]) -> None:
    if Path(name).is_dir() or is_cached(name) or "https" in getproxies():
        return
    hub = urlsplit(environ.get("HF_ENDPOINT", "https://huggingface.co"))
    try:
        port = hub.port or (80 if hub.scheme == "http" else 443)
        socket.create_connection((hub.hostname or "", port), SECONDS).close()
    except OSError as error:
        presets = f"no preset ({', '.join(PRESETS)}), " if kind == "model" else ""
        raise ConfigError(
            f"unknown {kind} {name!r}: it is {presets}no folder here, not in Hugging Face's "
            f"cache, and {hub.hostname} cannot be reached ({error.strerror or error})"
        ) from error


def is_cached(name: str) -> bool:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        files = ("config.json", "tokenizer_config.json")
        return any(isinstance(try_to_load_from_cache(name, file), str) for file in files)
    except HFValidationError as error:
        raise ConfigError(f"{name!r} is no folder here, and no name of the hub: {error}") from error
