"""What a machine tells of itself, read from files as Linux has them."""

from __future__ import annotations

from pathlib import Path

from trainyard.report import node

CANARY = "hunter2-canary"


def executable(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_survey(tmp_path: Path) -> None:
    files = {
        "sys/module/nvidia/version": "580.159.04\n",
        "sys/module/efa/version": "2.17.2g\n",
        "sys/class/infiniband/rdmap0s6/ports/1/hw_counters/tx_bytes": "1000\n",
        "sys/class/infiniband/rdmap0s6/ports/1/hw_counters/rx_bytes": "2000\n",
        "sys/class/infiniband/rdmap1s6/ports/1/state": "4: ACTIVE\n",
        "dev/nvidia0": "",
        "dev/nvidiactl": "",
        "dev/infiniband/uverbs0": "",
    }
    for name, text in files.items():
        (path := tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = node.survey(tmp_path, {"PATH": str(tmp_path), "FI_PROVIDER": "efa", "HOME": "/root"})
    assert (found["driver"], found["efa_driver"]) == ("580.159.04", "2.17.2g")
    assert [card["device"] for card in found["nics"]] == ["rdmap0s6", "rdmap1s6"]
    assert found["counters"] == [
        {"device": "rdmap0s6", "port": 1, "sent": 1000, "received": 2000},
        {"device": "rdmap1s6", "port": 1, "problem": "its counters cannot be read"},
    ]
    devices = [f"{tmp_path}/dev/infiniband/uverbs0", f"{tmp_path}/dev/nvidia0"]
    assert found["devices"] == devices
    assert found["environment"] == {"FI_PROVIDER": "efa"}


def test_fi_info(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path)}
    assert node.fi_info(environ) == {"problem": "fi_info is not installed"}
    executable(tmp_path / "fi_info", "echo 'fi_getinfo: -61 (No data available)' >&2; exit 61")
    assert node.fi_info(environ) == {"problem": "fi_getinfo: -61 (No data available)"}
    text = "provider: efa\n    fabric: efa\n    domain: rdmap0s6-rdm\n    version: 122.0\n"
    executable(tmp_path / "fi_info", f"printf '{text}{text}'")
    assert node.fi_info(environ) == {"domains": ["rdmap0s6-rdm"]}


def test_only_what_steers_the_network_is_told() -> None:
    told = {
        "NCCL_DEBUG": "INFO",
        "NCCL_IB_PKEY": "1",
        "FI_PROVIDER": "efa",
        "OFI_NCCL_PROTOCOL": "RDMA",
        "CUDA_VISIBLE_DEVICES": "0",
        "LD_LIBRARY_PATH": "/opt/amazon/efa/lib",
        "RAY_ADDRESS": "https://...@head:6379",
    }
    environ = {
        **told,
        "RAY_ADDRESS": f"https://user:{CANARY}@head:6379",
        "HOME": "/home/x",
        "LD_LIBRARY_PATH_OLD": CANARY,
        "MY_NCCL_DEBUG": CANARY,
        **dict.fromkeys(
            (
                "AWS_SECRET_ACCESS_KEY",
                "HF_TOKEN",
                "WANDB_API_KEY",
                "RAY_AUTH_TOKEN",
                "RAY_AUTH_TOKEN_PATH",
                "RAY_REDIS_PASSWORD",
                "RAY_CLOUD_API_KEY",
                "RAY_JOB_CONFIG_JSON_ENV_VAR",
                "RAY_RUNTIME_ENV_HOOK",
                "NCCL_SECRET",
            ),
            CANARY,
        ),
    }
    assert node.environment(environ) == told
