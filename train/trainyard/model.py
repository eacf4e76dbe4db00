"""The model, its loss and its optimizer."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

# From the modules themselves: the package's front door makes its imports lazy,
# but walks all models to do so.
from transformers.models.qwen2.configuration_qwen2 import Qwen2Config
from transformers.models.qwen2.modeling_qwen2 import Qwen2ForCausalLM

from trainyard.config import ModelShape


def build(shape: ModelShape, seed: int, device: torch.device) -> Qwen2ForCausalLM:
    """A model in fp32 with random weights, the same on every rank."""
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=shape.max_seq_len,
        use_cache=False,
        attn_implementation="sdpa",
    )
    with device:
        return Qwen2ForCausalLM(config)


def parameter_count(model: nn.Module) -> int:
    """Of the whole model, however it is sharded."""
    return sum(parameter.numel() for parameter in model.parameters())


def next_token_loss(model: nn.Module, tokens: Tensor) -> Tensor:
    """Mean cross-entropy, in nats, of predicting each token from those before.

    tokens has the shape [batch, seq_len + 1]; the result is a scalar in fp32.
    """
    logits = cast(Tensor, model(input_ids=tokens[:, :-1]).logits)
    return functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())


def build_optimizer(model: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
    # Fused: one kernel for all parameters. On the CPU it saves most of the
    # per-parameter cost of sharded tensors, on a GPU most of the launches.
    return torch.optim.AdamW(
        model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.1, fused=True
    )
