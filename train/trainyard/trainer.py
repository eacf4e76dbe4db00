"""Ray Train for workers that make their own process group.

Ray's TorchTrainer imports PyTorch in the driver and in its controller too, one
after the other and each for seconds, before the first worker can start. This
trainer leaves the process group to the workers (trainyard.parallel), and gives
them the environment variables that torchrun would.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ray
from ray.train import get_context
from ray.train.backend import Backend, BackendConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

if TYPE_CHECKING:
    from ray.train._internal.base_worker_group import BaseWorkerGroup


class Trainer(DataParallelTrainer):
    """Runs a function on all workers, ready for torch.distributed's env:// method."""

    def __init__(self, train_loop_per_worker: Any, **settings: Any) -> None:
        super().__init__(train_loop_per_worker, backend_config=ProcessGroupConfig(), **settings)


@dataclass
class ProcessGroupConfig(BackendConfig):
    @property
    def backend_cls(self) -> type[Backend]:
        return ProcessGroupBackend


class ProcessGroupBackend(Backend):
    # Each worker of a node sees all GPUs that the node's workers have, for NCCL
    # to find the links between them.
    share_cuda_visible_devices = True

    def on_start(self, worker_group: BaseWorkerGroup, backend_config: BackendConfig) -> None:
        address, port = worker_group.execute_single(0, rendezvous)
        worker_group.execute(set_environment, address, port)


def rendezvous() -> tuple[str, int]:
    """An address of this worker that the others can reach."""
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    return ray.util.get_node_ip_address(), port


def set_environment(address: str, port: int) -> None:
    """Set this worker's variables as torchrun would."""
    context = get_context()
    os.environ.update(
        MASTER_ADDR=address,
        MASTER_PORT=str(port),
        RANK=str(context.get_world_rank()),
        WORLD_SIZE=str(context.get_world_size()),
        LOCAL_RANK=str(context.get_local_rank()),
        LOCAL_WORLD_SIZE=str(context.get_local_world_size()),
    )
