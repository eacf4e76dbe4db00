"""What each node of a Ray cluster has: `python -m trainyard.survey`, as a Ray job.

Prints one record a node and line, read beside a training job before it and
after it, whatever that job is. It takes no CPU and no GPU from anybody.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from trainyard.report import node

SECONDS = 120  # that all nodes may take together


def main() -> None:
    ray.init(log_to_driver=False, logging_level="warning")
    look: Any = ray.remote(num_cpus=0, max_retries=0)(node.survey)
    looks = {
        there["NodeID"]: look.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(there["NodeID"], soft=False)
        ).remote()
        for there in ray.nodes()
        if there["Alive"]
    }
    ray.wait(list(looks.values()), num_returns=len(looks), timeout=SECONDS)
    names = {there["NodeID"]: there["NodeName"] for there in ray.nodes()}
    for identity, pending in looks.items():
        record = {"trainyard": 1, "event": "node", "node": names[identity], **told(pending)}
        sys.stdout.write(json.dumps(record) + "\n")


def told(pending: Any) -> dict[str, Any]:
    """What a node said, or why it said nothing."""
    try:
        return dict(ray.get(pending, timeout=0))
    except RayError as error:
        return {"problem": str(error).strip().splitlines()[-1]}


if __name__ == "__main__":
    main()
