from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from trainyard.config import ConfigError
from trainyard.report import trackers
from trainyard.report.trackers import Trackers


def test_what_is_asked_for_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    trackers.check({})
    trackers.check({"WANDB_MODE": "", "MLFLOW_TRACKING_URI": ""})
    with pytest.raises(ConfigError) as raised:
        trackers.check({"MLFLOW_TRACKING_URI": "http://x", "WANDB_API_KEY": "k", "WANDB_MODE": "y"})
    assert str(raised.value) == (
        "MLFLOW_TRACKING_URI is set, but mlflow is not installed: add --pip mlflow, or unset it; "
        "WANDB_API_KEY is set, but wandb is not installed: add --pip wandb, or unset it"
    )


def test_check_needs_no_slow_imports() -> None:
    program = (
        "import sys; from trainyard.report import trackers as t; t.check(); print(*sys.modules)"
    )
    package = Path(trackers.__file__).parents[2]
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=package, capture_output=True, text=True, check=True
    )
    assert not {"torch", "ray", "tensorboardX"} & set(found.stdout.split())


def test_tensorboard_holds_the_curves(tmp_path: Path) -> None:
    warnings: list[str] = []
    curves = Trackers(tmp_path / "tensorboard", {}, warnings.append, {})
    curves.log(1, {"loss": 5.5})
    curves.log(2, {"loss": 4.5, "mfu": 0.4})
    curves.close()
    assert warnings == []
    (file,) = (tmp_path / "tensorboard").iterdir()
    assert b"loss" in file.read_bytes() and b"mfu" in file.read_bytes()


MLFLOW = """
    import threading

    calls = []

    def start_run():
        calls.append(("start", threading.current_thread().name))

    def log_params(params):
        calls.append(("params", params))

    def log_metrics(numbers, step):
        if numbers.get("loss") == 2.0:
            raise OSError("no route to host")
        calls.append(("metrics", numbers, step))

    def end_run():
        calls.append(("end",))
"""


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with MLflow's own names, in the place where it would be installed."""
    (tmp_path / "mlflow.py").write_text(textwrap.dedent(MLFLOW))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mlflow", raising=False)


def test_mlflow_gets_settings_and_numbers(tmp_path: Path, mlflow: None) -> None:
    curves = Trackers(tmp_path, {"seed": 1}, print, {"MLFLOW_TRACKING_URI": "http://x"})
    curves.log(1, {"loss": 5.0})
    curves.close()
    assert sys.modules["mlflow"].calls == [
        ("start", "trackers"),
        ("params", {"seed": 1}),
        ("metrics", {"loss": 5.0}, 1),
        ("end",),
    ]


def test_a_tracker_that_fails_is_told_of_once(tmp_path: Path, mlflow: None) -> None:
    warnings: list[str] = []
    curves = Trackers(tmp_path, {}, warnings.append, {"MLFLOW_TRACKING_URI": "http://x"})
    for step, loss in enumerate((3.0, 2.0, 2.0, 1.0), start=1):
        curves.log(step, {"loss": loss})
    curves.close()
    assert warnings == ["MLflow is off from here on: no route to host"]
    assert sys.modules["mlflow"].calls[-1] == ("metrics", {"loss": 3.0}, 1)


def test_a_tracker_that_hangs_does_not_hold_the_run(
    tmp_path: Path, mlflow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow as module  # type: ignore[import-not-found]

    never = threading.Event()
    monkeypatch.setattr(module, "end_run", never.wait)
    monkeypatch.setattr(trackers, "PATIENCE_SECONDS", 0.2)
    warnings: list[str] = []
    curves = Trackers(tmp_path, {}, warnings.append, {"MLFLOW_TRACKING_URI": "http://x"})
    curves.close()
    never.set()
    assert "did not finish" in warnings[0]
