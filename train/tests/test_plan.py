from __future__ import annotations

import pytest
from conftest import Settings

from trainyard import plan
from trainyard.config import ConfigError
from trainyard.plan import GIB, Machines, ModelSize

# Qwen2.5's 1.5B and 7B.
SMALL = ModelSize("small", 1_543_714_304, 46_797_824, 28, 1536, 8960)
LARGE = ModelSize("large", 7_615_616_512, 233_057_792, 28, 3584, 18_944)
H200, L4 = 139 * GIB, 22 * GIB


@pytest.mark.parametrize(
    ("model", "machines", "parallel", "shard_ranks", "parameters_sent"),
    [
        (SMALL, Machines(1, 2, True, H200, 2), "ddp", 1, 0),
        (LARGE, Machines(1, 8, True, 60 * GIB, 2), "fsdp", 8, 0),
        # Two g6.12xlarge: what is sent is one copy of the gradients.
        (SMALL, Machines(2, 8, True, L4, 2), "hsdp", 4, 1.0),
        (SMALL, Machines(2, 2, True, H200, 2), "fsdp", 2, 1.0),
        (SMALL, Machines(4, 32, True, H200, 2), "hsdp", 8, 1.5),
        # A node cannot hold it: all must.
        (LARGE, Machines(4, 16, True, 40 * GIB, 2), "fsdp", 16, 2 * 15 / 16),
        (SMALL, Machines(2, 2, True, 0, 4), "fsdp", 2, 1.0),  # memory unknown: a CPU
    ],
)
def test_choice(
    settings: Settings,
    model: ModelSize,
    machines: Machines,
    parallel: str,
    shard_ranks: int,
    parameters_sent: float,
) -> None:
    chosen = plan.choose(settings(), model, machines)
    assert (chosen.parallel, chosen.shard_ranks) == (parallel, shard_ranks)
    sent = parameters_sent * model.parameters * machines.travel_bytes
    assert chosen.bytes_across_nodes == pytest.approx(sent)
    assert not machines.memory or chosen.memory <= machines.memory


def test_forced(settings: Settings) -> None:
    machines = Machines(2, 8, True, H200, 2)
    sent = {}
    for parallel in ("ddp", "fsdp", "hsdp"):
        chosen = plan.choose(settings("--parallel", parallel), SMALL, machines)
        assert chosen.parallel == parallel
        assert chosen.reason.startswith("asked for")
        sent[parallel] = chosen.bytes_across_nodes
    # What the documentation says: hsdp sends 1.75 times less here than sharding
    # over all, which itself sends 1.5 times less than gathering twice.
    assert sent["fsdp"] / sent["hsdp"] == pytest.approx(1.75)


def test_memory_decides(settings: Settings) -> None:
    """Less memory: first gathered weights go, then activations, then it does not fit."""
    long = settings("--seq-len", "4096", "--batch-size", "4", "--compile", "off")

    def at(memory: int) -> tuple[str, bool, bool]:
        chosen = plan.choose(long, SMALL, Machines(1, 8, True, memory, 2))
        return chosen.parallel, chosen.reshard, chosen.activation_checkpointing

    assert at(H200) == ("ddp", False, False)
    assert at(60 * GIB) == ("fsdp", False, False)
    assert at(47 * GIB) == ("fsdp", True, False)
    assert at(30 * GIB) == ("fsdp", False, True)
    assert at(12 * GIB) == ("fsdp", True, True)
    with pytest.raises(
        ConfigError, match=r"^small does not fit: at 4 x 4096 tokens it needs \d+ G"
    ):
        at(8 * GIB)


def test_how_many_gpus_it_takes(settings: Settings) -> None:
    config = settings()
    with pytest.raises(ConfigError, match="it takes at least 8 such GPUs") as caught:
        plan.choose(config, LARGE, Machines(1, 4, True, L4, 2))
    assert "on each of 4 GPUs, which have 22 GiB" in str(caught.value)
    assert plan.choose(config, LARGE, Machines(1, 8, True, L4, 2)).parallel == "fsdp"
    with pytest.raises(ConfigError, match="it takes at least 8 such GPUs"):
        plan.choose(config, LARGE, Machines(1, 7, True, L4, 2))
    with pytest.raises(ConfigError, match="let --parallel be auto or fsdp"):
        plan.choose(settings("--parallel", "ddp"), LARGE, Machines(1, 9, True, L4, 2))


def test_compiled_layers_keep_less(settings: Settings) -> None:
    """The largest batch of the 1.5B shape that an H200 was seen to hold: 118 GB."""
    config = settings("--seq-len", "2048", "--batch-size", "32")
    chosen = plan.choose(config, SMALL, Machines(1, 1, True, H200, 2))
    assert not chosen.activation_checkpointing
    assert chosen.memory == pytest.approx(118e9, rel=0.1)


def test_nodes_with_different_numbers_of_workers(settings: Settings) -> None:
    uneven = Machines(2, 5, False, L4, 2)
    assert plan.choose(settings(), SMALL, uneven).parallel == "fsdp"
    with pytest.raises(ConfigError, match="--parallel hsdp needs as many workers on each node"):
        plan.choose(settings("--parallel", "hsdp"), SMALL, uneven)


def test_hsdp_of_one_node_is_sharding_over_all(settings: Settings) -> None:
    chosen = plan.choose(settings("--parallel", "hsdp"), SMALL, Machines(1, 4, True, L4, 2))
    assert (chosen.parallel, chosen.shard_ranks, chosen.bytes_across_nodes) == ("hsdp", 4, 0)
