"""How a model is spread over GPUs, chosen from sizes alone; a pure calculation.

The choice is the one that moves the fewest bytes between nodes among those that
fit into memory. Per step, for P bytes of parameters as they travel (bf16 on
GPUs), M nodes of G ranks each and N = M x G ranks, every node sends

    fsdp, gathering twice:  3 x P x (N - 1) / N   gather, gather again, reduce
    fsdp, gathering once:   2 x P x (N - 1) / N
    ddp:                    2 x P x (N - 1) / N   a ring all-reduce
    hsdp:                   2 x P x (M - 1) / M   all-reduce of what a node sums

and receives as much. Source: the cost of ring collectives, as in NCCL's
nccl-tests/doc/PERFORMANCE.md, times the collectives that each mode needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trainyard.config import ConfigError, TrainConfig

GIB = 2**30
# What CUDA, NCCL and fragments of free memory take, and the workspace of the
# loss, which works in pieces of a fixed size.
RESERVE = 6 * GIB
# Measured with the 1.5B shape on an H200: 24 x 2048 tokens need 92 GB in all.
KEPT = 0.55
# AdamW in mixed precision: fp32 weight, gradient and two moments.
STATE_BYTES = 16


@dataclass(frozen=True)
class ModelSize:
    """What of a model decides how it is spread."""

    name: str
    parameters: int
    layer_parameters: int  # of the largest block that is gathered at once
    layers: int
    hidden: int
    intermediate: int  # width of the feed-forward part


@dataclass(frozen=True)
class Machines:
    """The ranks and what they run on."""

    nodes: int
    ranks: int
    even: bool  # every node has as many
    memory: int  # bytes that a rank has; 0: unknown
    travel_bytes: int  # of a parameter or gradient in a collective: 2 in bf16, 4 in fp32


@dataclass(frozen=True)
class Plan:
    """How to spread the model, and why."""

    parallel: str  # ddp, fsdp or hsdp
    shard_ranks: int  # ranks that hold one copy of the model together
    reshard: bool  # free gathered parameters after the forward pass
    activation_checkpointing: bool
    reason: str
    memory: int  # bytes that a rank will need, estimated
    bytes_across_nodes: int  # that each node sends in a step, and receives as much


def choose(config: TrainConfig, model: ModelSize, machines: Machines) -> Plan:
    """The plan with the least traffic between nodes that fits, or the one that was asked for.

    Raises ConfigError for a model that cannot fit, with the number of GPUs it takes.
    """
    candidates = [
        plan for plan in _candidates(model, machines) if config.parallel in ("auto", plan.parallel)
    ]
    if not candidates:
        raise ConfigError("--parallel hsdp needs as many workers on each node: take auto or fsdp")
    checkpointing = {"auto": (False, True), "on": (True,), "off": (False,)}
    for recompute in checkpointing[config.activation_checkpointing]:
        for candidate in candidates:
            plan = _with_memory(candidate, recompute, config, model, machines)
            if not machines.memory or plan.memory <= machines.memory:
                return _explained(plan, config, candidates)
    raise ConfigError(_does_not_fit(config, model, machines))


def _candidates(model: ModelSize, machines: Machines) -> list[Plan]:
    """All ways to spread the model; the one to prefer comes first."""
    ranks, nodes = machines.ranks, machines.nodes
    total = model.parameters * machines.travel_bytes

    def plan(parallel: str, shard_ranks: int, reshard: bool, sent: float, reason: str) -> Plan:
        across = int(sent) if nodes > 1 else 0
        return Plan(parallel, shard_ranks, reshard, False, reason, 0, across)

    among_ranks, among_nodes = total * (ranks - 1) / ranks, total * (nodes - 1) / nodes
    ddp = plan("ddp", 1, False, 2 * among_ranks, "every rank has room for a copy of the model")
    once = plan("fsdp", ranks, False, 2 * among_ranks, "sharded over all, gathered once a step")
    twice = plan("fsdp", ranks, True, 3 * among_ranks, "sharded over all and gathered twice a step")
    if not machines.even:
        return [once, ddp, twice]
    inside = "sharded inside a node, so that only summed gradients cross nodes"
    hsdp = plan("hsdp", ranks // nodes, False, 2 * among_nodes, inside)
    if nodes == 1:
        return [ddp, once, twice, hsdp]
    if ranks == nodes:
        # hsdp is ddp here. Sharding sends as much as ddp does, and half of it
        # can hide behind the forward pass.
        return [once, ddp, twice, hsdp]
    return [hsdp, once, ddp, twice]


def _with_memory(
    plan: Plan, recompute: bool, config: TrainConfig, model: ModelSize, machines: Machines
) -> Plan:
    state = STATE_BYTES * model.parameters / plan.shard_ranks
    gathered = model.layer_parameters * 2 if plan.reshard else model.parameters
    # Gathered weights, and the gradients of two blocks on their way.
    gathered = (gathered + 2 * model.layer_parameters) * machines.travel_bytes
    need = state + gathered + activation_bytes(config, model, recompute) + RESERVE
    return replace(plan, activation_checkpointing=recompute, memory=int(need))


def activation_bytes(config: TrainConfig, model: ModelSize, recompute: bool) -> float:
    """Bytes of activations that one forward pass keeps for the backward pass, in bf16.

    Per token and layer about 10 vectors of the hidden width (norms, attention
    and its projections, residuals) and 3 of the feed-forward's, of which
    compiled layers keep KEPT; with recomputation the layer's input, and one
    layer's activations at a time.
    """
    tokens = config.batch_size * config.seq_len
    layer = tokens * (10 * model.hidden + 3 * model.intermediate) * 2.0
    if config.compile != "off":
        layer *= KEPT
    if recompute:
        return model.layers * tokens * model.hidden * 2.0 + layer
    return model.layers * layer


def _explained(plan: Plan, config: TrainConfig, candidates: list[Plan]) -> Plan:
    reason = plan.reason
    if config.parallel != "auto":
        reason = f"asked for; {reason}"
    elif plan.parallel != candidates[0].parallel:
        reason = f"{candidates[0].parallel} does not fit; {reason}"
    if plan.activation_checkpointing:
        reason += ", activations computed twice to save memory"
    return replace(plan, reason=reason)


def _does_not_fit(config: TrainConfig, model: ModelSize, machines: Machines) -> str:
    fixed = RESERVE + activation_bytes(config, model, config.activation_checkpointing != "off")
    fixed += 4 * model.layer_parameters * machines.travel_bytes
    needed = fixed + STATE_BYTES * model.parameters / machines.ranks
    text = (
        f"{model.name} does not fit: at {config.batch_size} x {config.seq_len} tokens it needs "
        f"{needed / GIB:.0f} GiB on each of {machines.ranks} GPUs, which have "
        f"{machines.memory / GIB:.0f} GiB"
    )
    spare = machines.memory - fixed
    if config.parallel == "ddp":
        return f"{text}: let --parallel be auto or fsdp"
    if spare <= 0:
        return f"{text}: lower --batch-size or --seq-len"
    gpus = -(-STATE_BYTES * model.parameters // int(spare))
    return f"{text}: it takes at least {gpus} such GPUs"
