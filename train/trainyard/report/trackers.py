"""TensorBoard, MLflow and Weights & Biases: fed beside the training, never in its way.

TensorBoard is on wherever it is installed. The others are on where their own
variables are set: MLFLOW_TRACKING_URI, and WANDB_API_KEY or WANDB_MODE.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from trainyard.config import ConfigError

# How long the end of a run may wait for a tracker's server.
PATIENCE_SECONDS = 30.0

Numbers = Mapping[str, float]


class Tracker(Protocol):
    """Where numbers go. All calls come from one thread."""

    def log(self, step: int, numbers: Numbers) -> None: ...
    def close(self) -> None: ...


def wanted(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The trackers that the environment asks for, each with the variable that does."""
    variables = {
        "mlflow": ("MLFLOW_TRACKING_URI",),
        "wandb": ("WANDB_API_KEY", "WANDB_MODE"),
    }
    found: dict[str, str] = {}
    for module, names in variables.items():
        for name in names:
            if environ.get(name):
                found.setdefault(module, name)
    return found


def check(environ: Mapping[str, str] = os.environ) -> None:
    """Raises ConfigError if a tracker is asked for and not installed."""
    missing = [
        f"{variable} is set, but {module} is not installed: add --pip {module}, or unset it"
        for module, variable in wanted(environ).items()
        if importlib.util.find_spec(module) is None
    ]
    if missing:
        raise ConfigError("; ".join(missing))


class Trackers:
    """Hands numbers to all trackers from a thread of its own.

    A tracker that fails is told of once, by warn, and left out from then on.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any],
        warn: Callable[[str], None],
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._warn = warn
        self._queue: queue.SimpleQueue[tuple[int, Numbers] | None] = queue.SimpleQueue()
        # Opened in the thread as well: importing them takes seconds, and MLflow
        # ties a run to the thread that began it.
        self._openers: dict[str, Callable[[], Tracker]] = {}
        if has_tensorboard():
            self._openers["TensorBoard"] = lambda: TensorBoard(folder)
        asked = wanted(environ)
        if "mlflow" in asked:
            self._openers["MLflow"] = lambda: MLflow(settings)
        if "wandb" in asked:
            self._openers["Weights & Biases"] = lambda: WeightsAndBiases(settings)
        self._thread = threading.Thread(target=self._run, name="trackers", daemon=True)
        self._thread.start()

    def log(self, step: int, numbers: Numbers) -> None:
        self._queue.put((step, numbers))

    def close(self) -> None:
        """Wait until all is written, but not for ever."""
        self._queue.put(None)
        self._thread.join(PATIENCE_SECONDS)
        if self._thread.is_alive():
            self._warn(f"a tracker did not finish in {PATIENCE_SECONDS:.0f} s: its end is missing")

    def _run(self) -> None:
        trackers: dict[str, Tracker] = {}
        for name, opener in self._openers.items():
            with self._tolerating(name, trackers):
                trackers[name] = opener()
        while (item := self._queue.get()) is not None:
            for name, tracker in list(trackers.items()):
                with self._tolerating(name, trackers):
                    tracker.log(*item)
        for name, tracker in list(trackers.items()):
            with self._tolerating(name, trackers):
                tracker.close()

    @contextlib.contextmanager
    def _tolerating(self, name: str, trackers: dict[str, Tracker]) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            trackers.pop(name, None)
            first = (str(error).splitlines() or [type(error).__name__])[0][:200]
            self._warn(f"{name} is off from here on: {first}")


def has_tensorboard() -> bool:
    """Whether it can be written: Ray Train brings tensorboardX, others have tensorboard."""
    return any(importlib.util.find_spec(name) for name in ("tensorboardX", "tensorboard"))


class TensorBoard:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        lighter = importlib.util.find_spec("tensorboardX")
        module = importlib.import_module("tensorboardX" if lighter else "torch.utils.tensorboard")
        self._writer = module.SummaryWriter(str(folder))

    def log(self, step: int, numbers: Numbers) -> None:
        for name, number in numbers.items():
            self._writer.add_scalar(name, number, step)

    def close(self) -> None:
        self._writer.close()


class MLflow:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._mlflow = importlib.import_module("mlflow")
        self._mlflow.start_run()
        self._mlflow.log_params(dict(settings))

    def log(self, step: int, numbers: Numbers) -> None:
        self._mlflow.log_metrics(dict(numbers), step=step)

    def close(self) -> None:
        self._mlflow.end_run()


class WeightsAndBiases:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._run = importlib.import_module("wandb").init(config=dict(settings))

    def log(self, step: int, numbers: Numbers) -> None:
        self._run.log(dict(numbers), step=step)

    def close(self) -> None:
        self._run.finish()
