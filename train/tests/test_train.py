"""Training itself, on processes that talk over gloo."""

from __future__ import annotations

import contextlib
import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import RunRanks, Settings
from test_metrics import records_of

from trainyard import train
from trainyard.config import TrainConfig

# What the command-line tool reads. Adding a field is fine, anything else is a
# new version of the contract.
CONTRACT = {
    "rank": "rank world_size local_rank node_rank node pid device backend",
    "start": "model parameters data data_bytes steps batch_size seq_len world_size device backend"
    " parallel reason bytes_across_nodes",
    "evidence": "rank node pid versions environment nccl_log counters bytes_across_nodes steps",
    "step": "step steps loss tokens_per_second seconds elapsed world_size learning_rate grad_norm"
    " data_seconds forward_backward_seconds optimizer_seconds mfu memory_bytes",
    "evaluation": "step loss perplexity",
    "checkpoint": "path step seconds",
    "done": "steps first_loss last_loss seconds tokens_per_second",
}


def captured(configs: list[TrainConfig]) -> list[list[dict[str, Any]]]:
    """The records that this rank writes in one run after the other."""
    runs = []
    for config in configs:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            train.train(config)
        runs.append(records_of(output.getvalue()))
    return runs


def losses(run: list[dict[str, Any]]) -> list[float]:
    return [record["loss"] for record in run if record["event"] == "step"]


def test_no_checkpoints(settings: Settings, run_ranks: RunRanks) -> None:
    config = settings("--steps", "2", "--checkpoint-every", "1", "--keep", "0")
    ((records,),) = run_ranks(1, captured, [config])
    assert [record["step"] for record in records if record["event"] == "step"] == [1, 2]
    assert not [record for record in records if record["event"] == "checkpoint"]
    assert not list(Path(config.checkpoint_dir).glob("step-*"))


def test_records(settings: Settings, run_ranks: RunRanks) -> None:
    config = settings("--steps", "3", "--eval-every", "2")
    lead, other = (runs[0] for runs in run_ranks(2, captured, [config]))

    events = [record["event"] for record in lead]
    assert [event for event in events if event != "checkpoint"] == [
        *("rank", "start", "evidence", "step", "step", "evaluation", "step", "evaluation"),
        *("evidence", "done"),
    ]
    assert [record["event"] for record in other] == ["rank", "evidence", "evidence"]
    assert (lead[0]["rank"], other[0]["rank"]) == (0, 1)
    assert (lead[0]["local_rank"], other[0]["local_rank"]) == (0, 1)
    assert lead[0]["node"] == other[0]["node"]
    assert lead[0]["pid"] != other[0]["pid"]

    for record in lead:
        assert set(CONTRACT[record["event"]].split()) <= record.keys()
    steps = [record for record in lead if record["event"] == "step"]
    assert [record["step"] for record in steps] == [1, 2, 3]
    assert steps[0]["loss"] == pytest.approx(math.log(256), abs=0.2)
    assert all(record["tokens_per_second"] > 0 for record in steps)
    assert lead[-1]["first_loss"] == steps[0]["loss"]
    assert lead[-1]["last_loss"] == steps[-1]["loss"]
    assert lead[-1]["seconds"] == pytest.approx(steps[-1]["elapsed"])
    evaluation = next(record for record in lead if record["event"] == "evaluation")
    assert evaluation["perplexity"] == pytest.approx(math.exp(evaluation["loss"]), rel=1e-3)
    # What a rank knows is kept where the run's checkpoints are.
    kept = json.loads((Path(config.checkpoint_dir) / "evidence" / "rank-00001.json").read_text())
    assert (kept["rank"], kept["steps"]) == (1, 3)


def test_resumed_run_equals_an_uninterrupted_one(settings: Settings, run_ranks: RunRanks) -> None:
    straight = settings("--steps", "6", "--schedule", "cosine")
    folder = straight.checkpoint_dir + "-2"
    # Ended after step 3, then asked to do all six: the schedule is that of six.
    half = replace(straight, steps=3, schedule="constant", checkpoint_dir=folder)
    constant = replace(straight, schedule="constant")
    rest = replace(constant, checkpoint_dir=folder)
    whole, start, end = (losses(run) for run in run_ranks(2, captured, [constant, half, rest])[0])
    assert len(whole) == 6
    assert start + end == whole


def test_resumed_by_another_number_of_ranks(settings: Settings, run_ranks: RunRanks) -> None:
    """Four ranks, then one, then two: the loss goes on falling where it was."""
    config = settings("--steps", "4", "--learning-rate", "0.01")
    run_ranks(4, captured, [config])
    alone = losses(run_ranks(1, captured, [replace(config, steps=6)])[0][0])
    both = run_ranks(2, captured, [replace(config, steps=30)])[0][0]
    assert (len(alone), len(losses(both))) == (2, 24)
    assert next(record for record in both if record["event"] == "resumed")["step"] == 6
    assert alone[0] < math.log(256) - 0.3  # it does not begin anew
    assert losses(both)[0] < math.log(256) - 0.5


def test_accumulated_steps_are_larger_batches(settings: Settings, run_ranks: RunRanks) -> None:
    config = settings("--steps", "3", "--batch-size", "4")
    parts = replace(config, batch_size=1, accumulate=4, checkpoint_dir=config.checkpoint_dir + "-2")
    at_once, one_by_one = (losses(run) for run in run_ranks(1, captured, [config, parts])[0])
    assert one_by_one == pytest.approx(at_once, abs=1e-4)


def test_random_tokens_have_no_evaluation(settings: Settings, run_ranks: RunRanks) -> None:
    run = run_ranks(
        1, captured, [settings("--steps", "2", "--data", "random", "--eval-every", "0")]
    )
    assert len(losses(run[0][0])) == 2


def test_model_of_the_user(
    settings: Settings, run_ranks: RunRanks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bigram.py").write_text(
        "from torch import nn\n"
        "def build(config):\n"
        "    return nn.Sequential(nn.Embedding(256, 32), nn.Linear(32, 256))\n"
    )
    monkeypatch.chdir(tmp_path)
    config = settings("--model", "bigram:build", "--data", "stdlib", "--steps", "40")
    run = losses(run_ranks(2, captured, [replace(config, learning_rate=0.03)])[0][0])
    assert run[-1] < run[0] - 1


def test_lines_for_people(settings: Settings, run_ranks: RunRanks) -> None:
    config = replace(settings("--steps", "2"), json_metrics=False, eval_every=0)
    lines = run_ranks(1, output_of, config)[0].splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(
        ["rank", "tiny:", "step", "step", "saved", "done:"]
    )


def output_of(config: TrainConfig) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        train.train(config)
    return output.getvalue()


DROPOUT = """
from torch import nn

def build(config):
    return nn.Sequential(nn.Embedding(256, 256), nn.Dropout({}))
"""


def test_dropout(
    settings: Settings, run_ranks: RunRanks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed run drops what an uninterrupted one does, and an evaluation nothing."""
    (tmp_path / "some.py").write_text(DROPOUT.format(0.5))
    (tmp_path / "every.py").write_text(DROPOUT.format(1.0))
    monkeypatch.chdir(tmp_path)
    straight = settings("--model", "some:build", "--data", "stdlib", "--steps", "4")
    again = replace(straight, checkpoint_dir=straight.checkpoint_dir + "-2", eval_every=1)
    every = replace(again, model="every:build", checkpoint_dir=straight.checkpoint_dir + "-3")
    runs = run_ranks(2, captured, [straight, replace(again, steps=2), again, every])[0]
    assert losses(runs[1]) + losses(runs[2]) == losses(runs[0])

    assert losses(runs[3]) == pytest.approx([math.log(256)] * 4, abs=1e-5)  # logits are zero
    evaluations = [record["loss"] for record in runs[3] if record["event"] == "evaluation"]
    assert evaluations[0] > math.log(256) + 0.1
