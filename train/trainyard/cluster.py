"""Training on a Ray cluster: workers are started, started again, and given up on."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Mapping, Set
from typing import Any

from ray.train import (
    ControllerError,
    FailureConfig,
    RunConfig,
    ScalingConfig,
    TrainingFailedError,
    UserCallback,
)
from ray.train.torch import TorchTrainer

from trainyard.checkpoint.storage import UnreachableError
from trainyard.config import FAILED, USAGE, ConfigError, TrainConfig
from trainyard.report.failure import RunError, is_consequence


def fit(config: TrainConfig, resource: str, elastic: bool) -> int:
    """Train on config.num_workers workers, each with one of the resource; the exit code.

    Workers that are lost are started again, and go on from the newest checkpoint.
    Where nobody asked for a number, the run is content with fewer when a node is
    lost for good.
    """
    workers = config.num_workers
    # Ray's own files; ours are in the checkpoint directory. The controller, which
    # writes them, is on this node.
    with tempfile.TemporaryDirectory(prefix="trainyard-") as folder:
        trainer = TorchTrainer(
            worker,
            train_loop_config=config.to_dict(),
            scaling_config=ScalingConfig(
                num_workers=(1, workers) if elastic and workers > 1 else workers,
                use_gpu=resource == "GPU",
                resources_per_worker={resource: 1},
            ),
            run_config=RunConfig(
                name="ray",
                storage_path=folder,
                failure_config=FailureConfig(max_failures=config.max_failures),
                callbacks=[Retry()],
            ),
        )
        try:
            trainer.fit()
        except TrainingFailedError as error:
            code, text = conclude(error)
            sys.stderr.write(f"trainyard.train: {text}\n")
            return code
    return 0


def worker(settings: dict[str, Any]) -> None:
    """What Ray Train calls on each worker."""
    from trainyard.train import train

    try:
        train(TrainConfig(**settings))
    except (ConfigError, RunError):
        # They were told; Ray would show them again, with a traceback.
        logging.getLogger("ray.train").setLevel(logging.CRITICAL)
        raise


class GivenUpError(Exception):
    """Workers failed in a way that trying again would not change."""

    def __init__(self, failures: Mapping[int, Exception]) -> None:
        super().__init__(dict(failures))
        self.failures = dict(failures)


class Retry(UserCallback):  # type: ignore[misc]
    """Runs in Ray's controller, which starts failed workers again unless this raises."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def after_exception(self, run_context: Any, worker_exceptions: dict[int, Exception]) -> None:
        """Raises GivenUpError for errors that would recur, or did."""
        # Ray shows each failure with the tracebacks of all workers, more than once.
        logging.getLogger("ray.train").setLevel(logging.CRITICAL)
        _, error = first(worker_exceptions)
        again = isinstance(error, ConfigError | RunError) and str(error) in self._seen
        if again or recurs(error):
            raise GivenUpError(worker_exceptions)
        self._seen.add(str(error))
        sys.stderr.write(f"trainyard.train: {told(worker_exceptions)}: starting workers again\n")


def recurs(error: Exception) -> bool:
    """Whether the same would happen again, for all that is known."""
    if isinstance(error, RunError):
        return error.kind in ("memory", "numbers")
    return isinstance(error, ConfigError) and not isinstance(error, UnreachableError)


def first(failures: Mapping[int, Exception]) -> tuple[int, Exception]:
    """The rank and error that the others follow from."""
    return min(failures.items(), key=lambda failure: (_weight(failure[1]), failure[0]))


def _weight(error: Exception) -> int:
    """What a user should read first: own errors, then lost workers, then what followed."""
    if isinstance(error, ConfigError):
        return 0
    if isinstance(error, RunError):
        return 3 if error.kind == "peer" else 1
    return 3 if is_consequence(error) else 2


def conclude(error: TrainingFailedError) -> tuple[int, str]:
    """The exit code of a failed run, and one line that says why."""
    cause = error
    if isinstance(error, ControllerError):
        cause = error.controller_failure
    failures = getattr(cause, "failures", None) or getattr(cause, "worker_failures", None)
    if not failures:
        return FAILED, f"Ray could not run the workers: {(str(cause).splitlines() or [''])[0]}"
    code = USAGE if isinstance(first(failures)[1], ConfigError) else FAILED
    return code, told(failures)


def told(failures: Mapping[int, Exception]) -> str:
    """One line about what all ranks met."""
    rank, error = first(failures)
    text = _line(error)
    others = sum(1 for other in failures.values() if _line(other) != text)
    more = f" (and {others} more, which lost their peers)" if others else ""
    # What is wrong with the settings is so for every rank; any may be the first to say it.
    return f"{text}{more}" if isinstance(error, ConfigError) else f"rank {rank}: {text}{more}"


def _line(error: BaseException) -> str:
    if isinstance(error, ConfigError | RunError):
        return str(error)
    if type(error).__module__.startswith("ray."):
        return "its process is gone: killed, out of memory, or lost with its machine"
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"


def tune(hosts: Set[str]) -> None:
    """Set what Ray Train only takes from the environment, where the user has not.

    hosts are the addresses of the cluster's nodes.
    """
    # How often Ray looks whether workers are done or dead: its 2 s are a good
    # part of a short run.
    os.environ.setdefault("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.5")
    # On a single host no node is taken away in advance, and the actor that
    # would watch for it costs as much to start as a worker.
    if len(hosts) == 1:
        os.environ.setdefault("RAY_TRAIN_ENABLE_PREEMPTION_WATCHER", "0")
