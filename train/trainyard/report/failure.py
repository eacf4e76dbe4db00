"""What a rank says when it fails: one error, its cause first, once.

When one rank fails, the others fail in the next collective, because a peer is
gone. Such consequences are marked, so that whoever reads the errors of all
ranks can tell the first cause from what followed.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainyard.config import ConfigError, TrainConfig
from trainyard.report import records

# PyTorch is only asked where it is there: the driver comes without it.


class RunError(Exception):
    """Why a rank could not go on; the message is one line and says what to try.

    kind is config, memory, storage, numbers, peer (a consequence of another
    rank's error) or bug.
    """

    def __init__(self, message: str, rank: int | None = None, kind: str = "bug") -> None:
        super().__init__(message, rank, kind)  # all of them, or it cannot be pickled
        self.message = message
        self.rank = rank
        self.kind = kind

    def __str__(self) -> str:
        return self.message


# The step under way: a process is one rank of one run at a time.
_step = 0


def reached(step: int) -> None:
    """Note the step that begins now, for the errors that happen in it."""
    global _step
    _step = step


def told(train: Callable[[TrainConfig], None]) -> Callable[[TrainConfig], None]:
    """Around all that a rank does: tells of its error once, as a record or a line.

    Only ConfigError, RunError and what is no Exception leave it, so that
    nobody needs to show a traceback again.
    """

    @functools.wraps(train)
    def telling(config: TrainConfig) -> None:
        reached(0)
        try:
            train(config)
        except Exception as error:
            rank = _rank()
            kind, message = explain(error, config)
            trace = _trace(error) if kind == "bug" else None
            _tell(config, rank, _step, kind, message, trace)
            if isinstance(error, ConfigError):
                raise
            raise RunError(message, rank, kind) from None

    return telling


def explain(error: Exception, config: TrainConfig) -> tuple[str, str]:
    """The kind of an error, and a line that says what happened and what to do."""
    if isinstance(error, ConfigError):
        return "storage" if isinstance(error.__cause__, OSError) else "config", str(error)
    if isinstance(error, RunError):
        return error.kind, error.message
    if _out_of_memory(error):
        return "memory", f"out of memory{_memory()}; {advice(config)}"
    if full := _disk_full(error):
        return "storage", full
    if is_consequence(error):
        return "peer", f"another rank is gone ({_first_line(error)})"
    return "bug", f"{type(error).__name__}: {_first_line(error)}{_place(error)}"


def advice(config: TrainConfig) -> str:
    """What to lower when memory is short, what helps most first."""
    options = []
    if config.batch_size > 1:
        half = (config.batch_size + 1) // 2
        options.append(
            f"--batch-size {half} --accumulate {config.accumulate * 2} (as large a batch, in"
            " smaller parts)"
        )
    if config.activation_checkpointing != "on":
        options.append("--activation-checkpointing on")
    if config.parallel != "fsdp":
        options.append("--parallel fsdp")
    options.append(f"--seq-len {max(1, config.seq_len // 2)}")
    now = f"--batch-size is {config.batch_size} and --seq-len {config.seq_len}"
    return f"{now}: try {', then '.join(options)}, or more GPUs"


# What PyTorch, gloo and NCCL say when the other side of a connection is gone.
_GONE = (
    "connection closed by peer",
    "connection reset by peer",
    "connection was closed",
    "connection was likely closed",
    "connection refused",
    "broken pipe",
    "remote process exited",
    "communicator was aborted",
    "process group has been aborted",
    "timed out waiting",
    "wait timeout",
    "application timeout caused pair closure",
    "failed to recv, got 0 bytes",
)


def is_consequence(error: BaseException) -> bool:
    """Whether an error only says that another rank is not there any more."""
    if isinstance(error, ConnectionError):
        return True
    # PyTorch raises RuntimeError for gloo, subclasses of it for NCCL and the store.
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(sign in text for sign in _GONE)


def _out_of_memory(error: BaseException) -> bool:
    text = str(error)
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError)
        and ("out of memory" in text or "DefaultCPUAllocator" in text or "ALLOC_FAILED" in text)
    )


def _memory() -> str:
    """What of this rank's GPU is in use, in words; nothing where there is none."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return ""
    gib = 1 << 30
    free, total = torch.cuda.mem_get_info()
    return (
        f" on {torch.cuda.get_device_name()}: {torch.cuda.memory_allocated() / gib:.1f} GiB"
        f" allocated, {torch.cuda.memory_reserved() / gib:.1f} GiB reserved,"
        f" {free / gib:.1f} GiB free of {total / gib:.1f}"
    )


def _disk_full(error: BaseException) -> str | None:
    """Looks at the causes too: libraries wrap what the system said."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in (errno.ENOSPC, errno.EDQUOT):
            where = f" for {seen.filename!r}" if seen.filename else ""
            return f"no space left{where}: free some, or name another --checkpoint-dir"
        seen = seen.__cause__ or seen.__context__
    return None


# A record is one line, and of a longer one trainyard takes only the head.
_TRACE_CHARACTERS = 20_000


def _place(error: BaseException) -> str:
    """The last line of the user's or our own code that an error went through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "site-packages" not in frame.filename]
    return f" ({Path(own[-1].filename).name}:{own[-1].lineno} in {own[-1].name})" if own else ""


def _trace(error: BaseException) -> str:
    """The traceback from the training's own first line on."""
    if error.__traceback__:
        error = error.with_traceback(error.__traceback__.tb_next)
    return "".join(traceback.format_exception(error)).rstrip()[-_TRACE_CHARACTERS:]


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]


def _tell(
    config: TrainConfig, rank: int, step: int, kind: str, message: str, trace: str | None
) -> None:
    if config.json_metrics:
        fields = {"rank": rank, "step": step, "kind": kind, "message": message, "time": time.time()}
        if trace is not None:
            fields["traceback"] = trace
        records.write_line(records.json_line("error", fields))
        return
    # What all ranks are likely to meet alike is said by the first of them.
    first = _is_first() if kind in ("config", "numbers", "bug") else True
    if trace is not None and first:
        records.write_line(f"rank {rank} at step {step}:\n{trace}", sys.stderr)
    elif first or kind == "bug":
        records.write_line(f"trainyard.train: rank {rank} at step {step}: {message}", sys.stderr)


def _is_first() -> bool:
    """Whether no other rank has failed before; where nobody can tell, each has."""
    dist: Any = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized():
        return True
    try:
        return bool(dist.distributed_c10d._get_default_store().add("trainyard/errors", 1) == 1)
    except Exception:
        return True


def _rank() -> int:
    dist: Any = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        return int(dist.get_rank())
    return int(os.environ.get("RANK", 0))
