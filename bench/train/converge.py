"""Whether our arithmetic learns as plain fp32 does: 200 steps on Python's own source.

    PYTHONPATH=train torchrun --nproc-per-node gpu bench/train/converge.py

Trains in fp32 with sharding and nothing else for three seeds, then ours (bf16
compute and reduction, compiled, pieces of the loss) for one of them. Prints
both losses, and whether ours stays inside the band that the seeds make: their
mean and three of their standard deviations, smoothed over 20 steps.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

import recipes
import torch
from recipes import Shape
from torch.distributed.fsdp import fully_shard

from trainyard import model, optimizer, train, weights
from trainyard.data.reader import Reader
from trainyard.parallel import World, distributed
from trainyard.report.timeline import Timeline

SMOOTHED = 20


def losses(options: argparse.Namespace, seed: int, plain: bool, world: World) -> list[float]:
    flags = ["--data", "stdlib", "--seed", str(seed), "--steps", str(options.steps)]
    flags += ["--warmup-steps", "20", "--learning-rate", "1e-4", "--precision", options.precision]
    shape = Shape(4, 512)
    config = recipes.settings(options.model, shape, *flags)
    net = model.build(config, world.device)
    originals = weights.twins(net)
    if plain:
        for layer in net.layers:
            fully_shard(layer)
        fully_shard(net)
    else:
        from trainyard import parallel, plan

        parallel.shard(net, plan.choose(config, net.size(), world.machines), config, world)
    weights.fill(net, originals, config, world)
    adamw = optimizer.build_optimizer(net, config)
    timeline = Timeline(world.device)
    seen = []
    with Reader(config, world.rank, world.size) as reader:
        for step in range(1, config.steps + 1):
            rate = optimizer.learning_rate(config, step)
            scalars = train.train_step(
                net, adamw, [next(reader)], rate, config.clip, world, timeline
            )
            seen.append(scalars[0].read())
    recipes.forget()
    return seen


def smooth(values: list[float]) -> list[float]:
    return [
        statistics.fmean(values[max(0, end - SMOOTHED) : end]) for end in range(1, len(values) + 1)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="qwen2.5-1.5b")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--precision", default="bf16", help="ours: bf16 or fp8")
    parser.add_argument("--band", type=Path, help="take fp32's losses from an earlier --output")
    parser.add_argument("--output", type=Path, help="all losses as JSON")
    options = parser.parse_args()
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    with distributed() as world:
        if options.band:
            band = json.loads(options.band.read_text())["fp32"]
        else:
            band = [losses(options, seed, True, world) for seed in (1, 2, 3)]
        found = losses(options, 1, False, world)
    if world.rank:
        return
    inside, lines = 0, []
    for step, values in enumerate(zip(smooth(found), *map(smooth, band), strict=True), start=1):
        mine, *others = values
        middle, spread = statistics.fmean(others), 3 * statistics.stdev(others)
        inside += abs(mine - middle) <= spread
        if step == 1 or step % 40 == 0:
            lines.append(f"{step:5} {mine:9.4f} {middle:9.4f} +- {spread:.4f} {others[0]:9.4f}")
    say = sys.stdout.write
    say(f"{'step':>5} {'ours':>9} {'fp32, three seeds':>19} {'same seed':>9}\n")
    say("\n".join(lines) + f"\ninside the band in {inside} of {len(found)} steps\n")
    if options.output:
        options.output.write_text(json.dumps({"fp32": band, "ours": found}) + "\n")


if __name__ == "__main__":
    main()
