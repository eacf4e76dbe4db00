"""Steps of the reference recipe and of ours, on the same GPUs in one run.

    PYTHONPATH=train torchrun --nproc-per-node gpu bench/train/compare.py
    PYTHONPATH=train torchrun --nproc-per-node gpu bench/train/compare.py --as-hosts

Prints the time of a step, tokens/s of all GPUs, MFU and memory of both, and
their ratio: at given shapes, and for each at the largest that fits. With
--as-hosts each GPU is a host of its own to NCCL, and all goes over TCP.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WARMUP, STEPS = 5, 20


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="qwen2.5-1.5b")
    parser.add_argument("--shapes", default="1x128,4x2048", help="batch x sequence length")
    parser.add_argument(
        "--best", default="8x2048,16x2048,24x2048,8x8192", help="shapes of which the fastest counts"
    )
    parser.add_argument("--precision", default="bf16", help="ours: bf16 or fp8")
    parser.add_argument("--as-hosts", action="store_true", help="each GPU a host: NCCL over TCP")
    parser.add_argument("--output", type=Path, help="results as JSON")
    return parser.parse_args()


def pretend_hosts() -> None:
    """Before NCCL starts: ranks of one machine are taken for as many machines."""
    os.environ["NCCL_NET"] = "Socket"
    os.environ["NCCL_SOCKET_IFNAME"] = "lo"
    os.environ["NCCL_HOSTID"] = f"host-{os.environ['RANK']}"


def main() -> None:
    options = arguments()
    if options.as_hosts:
        pretend_hosts()
    # After the environment is settled, and after --help.
    import recipes
    import torch
    from recipes import Shape, Step

    from trainyard import model
    from trainyard.parallel import distributed
    from trainyard.report import flops

    with distributed() as world:
        peak = flops.peak(torch.cuda.get_device_name()) or float("nan")
        size = model.build(
            recipes.settings(options.model, Shape(1, 128)), torch.device("meta")
        ).size()

        recipe: dict[str, Any] = {
            "reference": recipes.reference,
            "ours": functools.partial(recipes.ours, flags=["--precision", options.precision]),
        }

        def measured(name: str, shape: Shape) -> dict[str, Any] | None:
            recipes.forget()
            try:
                step = recipe[name](options.model, shape, world)
                seconds = median_seconds(step)
            except torch.OutOfMemoryError:
                return None
            tokens = shape.tokens * world.size / seconds
            per_token = flops.flops_per_token(
                size.parameters, size.layers, size.hidden, shape.seq_len
            )
            return {
                "recipe": name,
                "shape": str(shape),
                "milliseconds": round(seconds * 1e3, 1),
                "tokens_per_second": round(tokens),
                "mfu": round(tokens * per_token / (peak * world.size), 3),
                "peak_gb": round(torch.cuda.max_memory_allocated() / 1e9, 1),
            }

        def median_seconds(step: Step) -> float:
            for _ in range(WARMUP):
                step()
            event = functools.partial(torch.cuda.Event, enable_timing=True)
            marks = [event() for _ in range(STEPS + 1)]
            marks[0].record()
            for mark in marks[1:]:
                step()
                mark.record()
            torch.cuda.synchronize()
            times = [a.elapsed_time(b) for a, b in itertools.pairwise(marks)]
            return float(statistics.median(times)) / 1e3

        rows = list(compared(options, measured, say if world.rank == 0 else quiet, Shape))
        if world.rank == 0 and options.output:
            about = {
                "device": torch.cuda.get_device_name(),
                "gpus": world.size,
                "precision": options.precision,
                "transport": "TCP" if options.as_hosts else "as NCCL chooses",
                "torch": torch.__version__,
                "shapes": options.shapes,
                "best_of": options.best,
            }
            options.output.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


def compared(options: Any, measured: Any, tell: Any, shape: Any) -> Iterator[dict[str, Any]]:
    """Both recipes at each shape, then each at the shape where it is fastest."""
    tell(f"{'recipe':10} {'shape':>9} {'ms/step':>9} {'tokens/s':>10} {'MFU':>6} {'GB':>6}")
    seen: dict[tuple[str, str], dict[str, Any] | None] = {}

    def once(name: str, text: str) -> dict[str, Any] | None:
        if (name, text) not in seen:
            batch, _, length = text.partition("x")
            row = seen[name, text] = measured(name, shape(int(batch), int(length)))
            tell(line(row) if row else f"{name:10} {text:>9} {'out of memory':>9}")
        return seen[name, text]

    shapes = options.shapes.split(",") if options.shapes else []
    for text in shapes:
        pair = [once(name, text) for name in ("reference", "ours")]
        if pair[0] and pair[1]:
            ratio = pair[0]["milliseconds"] / pair[1]["milliseconds"]
            tell(f"{'ratio':10} {pair[0]['shape']:>9} {ratio:>8.2f}x")
    candidates = options.best.split(",") if options.best else []
    fastest: dict[str, dict[str, Any]] = {}
    for name in ("reference", "ours"):
        tried = [once(name, text) for text in candidates]
        rows = [row for row in tried if row]
        if rows:
            fastest[name] = max(rows, key=lambda row: int(row["tokens_per_second"]))
    if len(fastest) == 2:
        ratio = fastest["ours"]["tokens_per_second"] / fastest["reference"]["tokens_per_second"]
        tell(f"{'ratio':10} {'best':>9} {ratio:>8.2f}x")
    yield from (row for row in seen.values() if row)


def line(row: dict[str, Any]) -> str:
    return (
        f"{row['recipe']:10} {row['shape']:>9} {row['milliseconds']:>9.1f} "
        f"{row['tokens_per_second']:>10,} {row['mfu']:>6.3f} {row['peak_gb']:>6.1f}"
    )


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def quiet(_: str) -> None:
    """For all ranks but the first."""


if __name__ == "__main__":
    main()
