"""Causal attention among the documents that share a row.

Rows are packed: a row of seq_len tokens holds several documents one after the
other, and no token may look at another document's. The boundaries go to every
layer as keyword arguments of the model's forward pass, which transformers hands
on to the attention function that a configuration names.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AttentionInterface

NAME = "trainyard"


def boundaries(documents: Tensor) -> dict[str, Tensor]:
    """What the layers need to know about documents [batch, seq_len], on the CPU.

    position_ids [batch, seq_len]: of each token in its document.
    cumulative_lengths [n], int32: where each document begins in the batch as
    one long row, with the end; padded with the end to one of few lengths, since
    each new length may compile the layers again.
    """
    batch, seq_len = documents.shape
    place = torch.arange(seq_len)
    first = torch.ones_like(documents, dtype=torch.bool)
    first[:, 1:] = documents[:, 1:] != documents[:, :-1]
    begins = torch.where(first, place, 0).cummax(dim=1).values
    starts = first.flatten().nonzero().flatten().to(torch.int32)
    ends = functional.pad(starts, (0, _padding(len(starts))), value=batch * seq_len)
    return {"position_ids": place - begins, "cumulative_lengths": ends}


def _padding(count: int) -> int:
    """How many entries follow count ones: at least one, up to a power of two."""
    return int(2 ** max(5, count.bit_length())) - count


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    cumulative_lengths: Tensor | None = None,
    sliding_window: int | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attention of query [batch, heads, seq_len, size] on key and value.

    What else a model may ask for, replaces has made sure that it does not.

    key and value may have fewer heads, each for a group of the query's. Returns
    [batch, seq_len, heads, size]. Without boundaries a row is one document.
    """
    # The kernel for documents has no dropout, and one size for keys and values.
    flash = query.is_cuda and query.dtype.itemsize == 2 and not dropout
    if cumulative_lengths is not None and flash and value.shape[-1] == query.shape[-1]:
        return _packed(query, key, value, cumulative_lengths, scaling, sliding_window), None
    mask = _mask(query, cumulative_lengths, sliding_window)
    grouped = query.shape[1] != key.shape[1]
    output = functional.scaled_dot_product_attention(
        query, key, value, mask, dropout, mask is None, scale=scaling, enable_gqa=grouped
    )
    return output.transpose(1, 2), None


def _mask(query: Tensor, cumulative_lengths: Tensor | None, window: int | None) -> Tensor | None:
    """True where the second token may be looked at; None where causality says it all."""
    batch, _, seq_len, _ = query.shape
    place = torch.arange(seq_len, device=query.device)
    distance = place[:, None] - place
    seen = None
    if window and window < seq_len:
        seen = (distance >= 0) & (distance < window)
    if cumulative_lengths is not None:
        tokens = torch.arange(batch * seq_len, device=query.device)
        owners = torch.searchsorted(cumulative_lengths, tokens, right=True).view(batch, 1, -1)
        own = (owners[..., None] == owners[..., None, :]) & (distance >= 0)
        seen = own if seen is None else own & seen
    return seen


def _packed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cumulative_lengths: Tensor,
    scaling: float | None,
    sliding_window: int | None,
) -> Tensor:
    """Flash attention over documents of different lengths, without a mask in memory."""
    from torch.nn.attention.varlen import varlen_attn

    batch, heads, seq_len, size = query.shape
    if key.shape[1] != heads:  # not every version of the kernel groups heads itself
        key, value = (part.repeat_interleave(heads // key.shape[1], 1) for part in (key, value))
    flat_query, flat_key, flat_value = (
        part.transpose(1, 2).flatten(0, 1) for part in (query, key, value)
    )
    longest = min(seq_len, sliding_window or seq_len)
    output = varlen_attn(
        flat_query,
        flat_key,
        flat_value,
        cu_seq_q=cumulative_lengths,
        cu_seq_k=cumulative_lengths,
        max_q=seq_len,
        max_k=seq_len,
        scale=scaling,
        window_size=(longest - 1 if longest < seq_len else -1, 0),
    )
    assert isinstance(output, Tensor)
    return output.view(batch, seq_len, heads, size)


def replaces(net: Any) -> bool:
    """Whether a causal language model that was built with NAME gets the right attention.

    It must call this module's for every layer, hand on the boundaries, and ask
    for nothing that is not done here. net, on the meta device, runs up to its
    first attention.
    """
    kinds = set(getattr(net.config.get_text_config(), "layer_types", None) or ())
    if net._is_stateful or kinds - {"full_attention", "sliding_attention"}:
        return False  # some layers carry a state from token to token, or cut rows
    asked: dict[str, Any] = {}

    def ask(_: Any, query: Any, key: Any, value: Any, mask: Any, **more: Any) -> None:
        asked.update(more, mask=mask)
        raise _AskedError

    AttentionInterface.register(NAME, ask)
    tokens = torch.zeros(1, 2, dtype=torch.long, device=net.device)
    about = {"position_ids": tokens, "cumulative_lengths": tokens[0]}
    try:
        net(input_ids=tokens, use_cache=False, **about)
    except _AskedError:
        more = any(asked.get(name) is not None for name in ("mask", "softcap", "s_aux"))
        return "cumulative_lengths" in asked and not more
    except Exception:  # what a model raises that knows its own kinds of attention only
        return False
    finally:
        AttentionInterface.register(NAME, attention)
    return False


class _AskedError(Exception):
    """A model has called its attention."""


AttentionInterface.register(NAME, attention)
