"""The user's own model: a function that --model names as module:function."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from trainyard.config import ConfigError


def find(name: str) -> Callable[[Any], object]:
    """The function; its module is looked for in the working directory first.

    Raises ConfigError if there is none.
    """
    module_name, _, function_name = name.partition(":")
    module_name = module_name.removesuffix(".py").replace("/", ".")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"--model {name}: {error}") from error
    finally:
        sys.path.remove(here)
    if not callable(function := getattr(module, function_name, None)):
        raise ConfigError(f"--model {name}: {module_name} has no function {function_name!r}")
    return cast("Callable[[Any], object]", function)
