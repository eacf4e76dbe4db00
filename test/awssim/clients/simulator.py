"""A simulator for each test, as its users start it, and clients that speak to it."""

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from known import Known

REPOSITORY = Path(__file__).parents[3]
ACCOUNT = {
    "id": "111122223333",
    "keys": [
        {"accessKey": "AKIAIOSFODNN7EXAMPLE", "secret": "secret", "user": "admin"},
        {"accessKey": "AKIANOBODY", "secret": "none", "user": "no", "policy": {"Statement": []}},
    ],
    "roles": [{"name": "Admin"}],
    "quotas": {"L-DB2E81BA": 192, "L-417A185B": 384, "L-3819A6DF": 192},
    "clusters": [
        {"region": "us-east-1", "name": name, "version": "1.35", "zones": ["us-east-1b"]}
        for name in ("one", "two", "three")
    ],
}  # fmt: skip
SEED = {"accounts": [ACCOUNT], "stock": [{"zone": "use1-az1", "type": "g6.*", "count": 2}]}


class Sim:
    """A running simulator."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env
        self.url = env["AWS_ENDPOINT_URL"]

    def control(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        method = "GET" if body is None else "PUT"
        request = urllib.request.Request(f"{self.url}/_awssim/{path}", data=data, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bin") / "awssim"
    subprocess.run(["go", "build", "-o", path, "./test/awssim"], cwd=REPOSITORY, check=True)
    return path


@pytest.fixture
def sim(binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sim]:
    seed = tmp_path / "seed.json"
    seed.write_text(json.dumps(SEED))
    with subprocess.Popen([binary, "-seed", seed], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        env = {}
        while "AWS_EC2_METADATA_DISABLED" not in env:
            line = process.stdout.readline()
            assert line, "the simulator ended before it said where it is"
            name, _, value = line.removeprefix("export ").strip().partition("=")
            env[name] = value
        for name in [n for n in os.environ if n.startswith("AWS_") and n != "AWS_DATA_PATH"]:
            monkeypatch.delenv(name)  # but where the aws client finds its own data
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
        yield Sim(env)
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 0


@pytest.fixture
def client(sim: Sim) -> Callable[..., Any]:
    """Make clients that refuse answers with anything that AWS's model does not have."""

    def make(service: str, region: str = "us-east-1", **more: Any) -> Any:
        config = Config(retries={"mode": "standard", "total_max_attempts": 1})
        made = boto3.client(service, region_name=region, config=config, **more)
        made.meta.events.register("after-call", Known())
        return made

    return make
