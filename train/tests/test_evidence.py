from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
import torch
from conftest import Settings

from trainyard.parallel import World
from trainyard.report import evidence, rdma
from trainyard.report.evidence import Evidence
from trainyard.report.metrics import Metrics

CANARY = "hunter2-canary"


def world(rank: int = 0) -> World:
    return World(
        rank=rank,
        size=4,
        local_rank=rank % 2,
        local_size=2,
        node_rank=rank // 2,
        nodes=2,
        even=True,
        node=f"worker-{rank // 2}",
        device=torch.device("cpu"),
        backend="gloo",
    )


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    """A /sys with an EFA card, an InfiniBand card, and one that cannot be read."""
    files = {
        "rdmap0s6/ports/1/hw_counters/tx_bytes": "1000",
        "rdmap0s6/ports/1/hw_counters/rx_bytes": "2000",
        "rdmap0s6/device/numa_node": "1",
        "mlx5_0/ports/1/counters/port_xmit_data": "25",  # words of four bytes
        "mlx5_0/ports/1/counters/port_rcv_data": "50",
        "mlx5_0/ports/1/hw_counters/rx_icrc": "0",
        "mlx5_0/device/numa_node": "-1",
        "rdmap0s7/ports/1/hw_counters/tx_bytes": "many",
        "rdmap0s7/ports/1/hw_counters/rx_bytes": "0",
    }
    for name, text in files.items():
        path = tmp_path / "sys/class/infiniband" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return tmp_path / "sys"


def test_counters_of_a_job(sysfs: Path) -> None:
    before = rdma.read(sysfs)
    card = sysfs / "class/infiniband/rdmap0s6/ports/1/hw_counters"
    (card / "tx_bytes").write_text("6000\n")
    assert rdma.growth(before, rdma.read(sysfs)) == [
        {
            "device": "mlx5_0",
            "port": 1,
            "sent_before": 100,
            "received_before": 200,
            "sent_after": 100,
            "received_after": 200,
        },
        {
            "device": "rdmap0s6",
            "port": 1,
            "sent_before": 1000,
            "received_before": 2000,
            "sent_after": 6000,
            "received_after": 2000,
        },
        {"device": "rdmap0s7", "port": 1, "problem": "its counters cannot be read"},
    ]
    gone = rdma.growth(before, {})
    assert {row["problem"] for row in gone} == {
        "it was gone after the job",
        "its counters cannot be read",
    }
    assert rdma.growth({}, {("new", 1): (1, 2)})[0]["problem"] == "it was not there before the job"


def test_cards_and_their_places(sysfs: Path) -> None:
    places = {card["device"]: card["numa_node"] for card in rdma.cards(sysfs)}
    assert places == {"mlx5_0": None, "rdmap0s6": 1, "rdmap0s7": None}


def test_a_machine_without_cards(tmp_path: Path) -> None:
    assert rdma.cards(tmp_path) == []
    assert rdma.growth(rdma.read(tmp_path), rdma.read(tmp_path)) == []


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({}, None),
        ({"NCCL_DEBUG": "WARN", "NCCL_DEBUG_FILE": "/x"}, None),
        ({"NCCL_DEBUG": "info"}, "stdout"),
        (
            {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": "/x/%h.%p.100%%"},
            f"/x/{os.uname().nodename}.{os.getpid()}.100%",
        ),
    ],
)
def test_place_of_the_nccl_log(environ: dict[str, str], place: str | None) -> None:
    assert evidence.nccl_log(environ) == place


def test_nccl_writes_into_a_folder_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {})
    evidence.log_to(tmp_path / "nccl")
    assert (tmp_path / "nccl").is_dir()
    assert os.environ["NCCL_DEBUG"] == "INFO"
    assert "NET" in os.environ["NCCL_DEBUG_SUBSYS"]
    assert os.environ["NCCL_DEBUG_FILE"] == f"{tmp_path}/nccl/nccl-%h-%p.log"


def test_the_users_own_log_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"NCCL_DEBUG": "WARN"})
    evidence.log_to(tmp_path / "nccl")
    assert os.environ == {"NCCL_DEBUG": "WARN"}
    assert not (tmp_path / "nccl").exists()


def test_loaded_libraries(tmp_path: Path) -> None:
    real = tmp_path / "libfabric.so.1.28.0"
    real.touch()
    (tmp_path / "libfabric.so.1").symlink_to(real)
    maps = tmp_path / "maps"
    maps.write_text(
        f"7f00-7f01 r-xp 00000000 08:01 1 {tmp_path}/libfabric.so.1\n"
        f"7f01-7f02 r--p 00000000 08:01 1 {tmp_path}/libfabric.so.1\n"
        "7f02-7f03 r-xp 00000000 08:01 2 /usr/lib/libc.so.6\n"
        "7f03-7f04 r-xp 00000000 08:01 3 /opt/x/libnccl-net-ofi.so (deleted)\n"
    )
    assert evidence.libraries(maps) == ["/opt/x/libnccl-net-ofi.so", str(real)]
    assert evidence.libraries(tmp_path / "nowhere") == []


def test_a_file_and_a_record_of_each_rank(
    settings: Settings, sysfs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_AUTH_TOKEN", "WANDB_API_KEY", "RAY_JOB_CONFIG_JSON_ENV_VAR"):
        monkeypatch.setenv(name, CANARY)
    config, output = settings(), io.StringIO()
    place = world(rank=3)
    proof = Evidence(config, place, sysfs)
    metrics = Metrics(config, place, output)
    proof.write(metrics, bytes_across_nodes=1000)
    proof.write(metrics, bytes_across_nodes=1000, steps=5)
    file = Path(config.checkpoint_dir) / "evidence" / "rank-00003.json"
    kept = json.loads(file.read_text())
    early, late = [json.loads(line) for line in output.getvalue().splitlines()]
    assert late == {"trainyard": 1, "event": "evidence", **kept}
    assert (late["rank"], late["node"], late["steps"]) == (3, "worker-1", 5)
    assert late["bytes_across_nodes"] == 2500  # half of what its node sends
    assert (early["bytes_across_nodes"], early["counters"]) == (0, [])
    assert len(late["counters"]) == 3
    assert late["versions"]["torch"] == torch.__version__
    assert CANARY not in output.getvalue() + file.read_text()


def test_evidence_that_cannot_be_kept_ends_no_run(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    config, output = settings("--checkpoint-dir", str(tmp_path / "file/run")), io.StringIO()
    Evidence(config, world()).write(Metrics(config, world(), output), 0)
    told = [json.loads(line) for line in output.getvalue().splitlines()]
    assert [record["event"] for record in told] == ["evidence", "warning"]
    assert told[1]["message"].startswith("keeping the evidence in ")
