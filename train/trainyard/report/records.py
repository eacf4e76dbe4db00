"""The lines by which a run tells what happens in it, one an event.

For programs, with TRAINYARD_METRICS=json, a line of JSON on stdout that starts
with `{"trainyard": 1, "event": "`; the number is the version of this contract.
For people a text.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

VERSION = 1


def json_line(event: str, fields: Mapping[str, Any]) -> str:
    """One record. JSON has no NaN and no infinity: both become null."""
    record = {"trainyard": VERSION, "event": event, **fields}
    return json.dumps(_finite(record), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def write_line(line: str, stream: TextIO | None = None) -> None:
    """Write a line in one piece and at once, to stdout unless told otherwise."""
    # Not print: Ray Train replaces it by one that goes through its logger,
    # which adds a prefix and a second copy in another file.
    stream = sys.stdout if stream is None else stream
    stream.write(line + "\n")
    stream.flush()


def text_line(event: str, fields: Mapping[str, Any]) -> str:
    """The same for people; empty for events that only programs ask for."""
    render = _TEXTS.get(event)
    return render(fields) if render else ""


def _start(fields: Mapping[str, Any]) -> str:
    across = fields["bytes_across_nodes"]
    traffic = f", {across / 1e9:.2f} GB a step from each node to others" if across else ""
    size = fields["data_bytes"]
    data = fields["data"] if size is None else f"{size:,} bytes of {fields['data']}"
    return (
        f"{fields['model']}: {fields['parameters']:,} parameters, {data},"
        f" {fields['world_size']} ranks, {fields['parallel']} ({fields['reason']}{traffic});"
        f" curves in {fields['metrics_folder']}"
    )


def _step(fields: Mapping[str, Any]) -> str:
    line = (
        "step {step:>6}/{steps}  loss {loss:7.4f}  {tokens_per_second:>11,.0f} tokens/s"
        "  {seconds:8.3f} s  lr {learning_rate:.2e}".format_map(fields)
    )
    return line if fields["mfu"] is None else f"{line}  MFU {fields['mfu']:.3f}"


def _done(fields: Mapping[str, Any]) -> str:
    if not fields["steps"]:
        return "done: nothing was left to do"
    return (
        "done: {steps} steps in {seconds:.1f} s, loss {first_loss:.4f} -> {last_loss:.4f},"
        " {tokens_per_second:,.0f} tokens/s".format_map(fields)
    )


_TEXTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "rank": "rank {rank} of {world_size} on {node}, {device}, {backend}".format_map,
    "start": _start,
    "resumed": "going on from step {step}".format_map,
    "step": _step,
    "evaluation": "step {step:>6}  evaluation: {loss:.4f}, perplexity {perplexity:.2f}".format_map,
    "checkpoint": "saved {path} in {seconds:.1f} s".format_map,
    "exported": "exported {path}".format_map,
    "warning": "warning: {message}".format_map,
    "done": _done,
}
