"""Saving and loading the state of a run, each rank its own shard."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint import state_dict_loader, state_dict_saver
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from trainyard import manifest
from trainyard.manifest import Manifest


def save(
    directory: Path, model: nn.Module, optimizer: torch.optim.Optimizer, about: Manifest
) -> Path:
    """Write a checkpoint into directory, which all ranks share, and return it.

    Everything is written beside and renamed when whole, so that a save which is
    killed leaves nothing that looks like a checkpoint. All ranks call this.
    """
    final = directory / manifest.folder_name(about.step)
    partial = final.with_name(final.name + manifest.PARTIAL)
    if dist.get_rank() == 0:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
    _meet()
    state_dict_saver.save(_state(model, optimizer), checkpoint_id=partial)
    if dist.get_rank() == 0:
        about.write(partial)
        _replace(partial, final)
    _meet()
    return final


def load(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> Manifest:
    """Fill model and optimizer from a checkpoint of any number of ranks."""
    about = manifest.read(folder)
    state = _state(model, optimizer)
    state_dict_loader.load(state, checkpoint_id=folder)
    set_state_dict(
        model,
        optimizer,
        model_state_dict=state["model"],
        optim_state_dict=state["optimizer"],
    )
    return about


def _meet() -> None:
    """Wait for all ranks. NCCL wants to know on which GPU."""
    on_gpu = dist.get_backend() == "nccl"
    dist.barrier(device_ids=[torch.cuda.current_device()] if on_gpu else None)


def _state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    model_state, optimizer_state = get_state_dict(model, optimizer)
    return {"model": model_state, "optimizer": optimizer_state}


def _replace(partial: Path, final: Path) -> None:
    """Give partial its final name, in the place of an older one if need be."""
    _sync(partial / manifest.FILE)
    _sync(partial)
    if final.exists():
        shutil.rmtree(final)
    partial.rename(final)
    _sync(final.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
