# Says what an interpreter has for running Ray, as one JSON object on stdout.
# Everything that packages print while they are imported goes to stderr. Runs
# on Python 3.6 and newer, so that an old one is reported and not a syntax error.
import importlib
import json
import os
import sys

result = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
# The folder that the command was started in is not part of the interpreter.
sys.path[:] = [path for path in sys.path if path]


def version(package: str) -> str:
    """The installed version without importing the package, or an empty string."""
    try:
        from importlib import metadata

        return metadata.version(package)
    except ImportError:  # PackageNotFoundError is one
        return ""


def import_error(module: str) -> str:
    """Why module cannot be imported, or an empty string."""
    try:
        importlib.import_module(module)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


errors: "dict[str, str]" = {}
found = {
    "python": ".".join(map(str, sys.version_info[:3])),
    "prefix": sys.prefix,
    "ray": version("ray"),
    "torch": version("torch"),
    "transformers": version("transformers"),
    "errors": errors,
}
if found["ray"]:
    # Without its own import none of the others can be judged. PyTorch is not
    # imported: it takes seconds, and the workers do it.
    for module in ("ray", "ray.dashboard.optional_deps", "ray.train"):
        error = import_error(module)
        if error:
            errors[module] = error
            if module == "ray":
                break
with result:
    json.dump(found, result)
