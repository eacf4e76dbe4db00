from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForCausalLM

from trainyard import attention, model, weights
from trainyard.model import HuggingFaceModel


def test_boundaries() -> None:
    documents = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 2, 2, 2]])
    about = attention.boundaries(documents)
    assert about["position_ids"].tolist() == [[0, 1, 0, 1, 2], [0, 0, 0, 1, 2]]
    lengths = about["cumulative_lengths"].tolist()
    assert lengths[:5] == [0, 2, 5, 6, 7]
    assert set(lengths[5:]) == {10}
    mask = attention._mask(torch.zeros(2, 1, 5, 1), about["cumulative_lengths"], None)
    assert mask is not None
    assert mask[0, 0].int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 1, 1, 0],
        [0, 0, 1, 1, 1],
    ]


@pytest.fixture(scope="module")
def net() -> HuggingFaceModel:
    from trainyard import config as configuration

    config = configuration.parse([], {})
    built = model.build(config, torch.device("cpu"))
    originals = weights.twins(built)
    built.to_empty(device="cpu")
    weights.fill_random(built, originals, 0, torch.device("cpu"))
    assert isinstance(built, HuggingFaceModel)
    return built


def test_packed_documents_are_as_alone(net: HuggingFaceModel) -> None:
    """The loss of two documents in a row is the sum of their losses in rows of their own."""
    torch.manual_seed(0)
    rows = torch.randint(0, 256, (1, 12))
    targets = torch.randint(0, 256, (1, 12))
    one = torch.tensor(1.0)
    owners = (torch.arange(12) >= 5).int().unsqueeze(0)
    packed = net(rows, targets, one, model.packed(owners))
    alone = [net(rows[:, part], targets[:, part], one) for part in (slice(0, 5), slice(5, 12))]
    torch.testing.assert_close(packed, alone[0] + alone[1])
    assert abs(packed.item() - net(rows, targets, one).item()) > 1e-4  # the mask matters


def test_sliding_window() -> None:
    """A window as long as the row changes nothing; a window of one sees itself alone."""
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, heads, 6, 8) for heads in (4, 2, 2))

    def attend(window: int | None) -> torch.Tensor:
        return attention.attention(
            torch.nn.Identity(), query, key, value, None, sliding_window=window
        )[0]

    torch.testing.assert_close(attend(6), attend(None))
    own = value.repeat_interleave(2, dim=1).transpose(1, 2)
    torch.testing.assert_close(attend(1), own)


# Each asks for something that the attention here has not, or does not say where
# documents begin: scores that are capped, sinks, no way to replace it, a scaled head.
SMALL = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
KINDS: dict[str, dict[str, object]] = {
    "gemma2": {"query_pre_attn_scalar": 16, "head_dim": 16, "sliding_window": 8},
    "gpt_oss": {"num_local_experts": 2, "num_experts_per_tok": 1, "head_dim": 16},
    "nemotron": {},
    "falcon": {},
    "granite": {"attention_multiplier": 0.3, "logits_scaling": 3.0},
    "bloom": {},
    "mamba": {"state_size": 4},
    "mistral": {"sliding_window": 8},
}
MIX = ("bloom", "mamba", "gpt_oss")  # nothing tells these where a document begins


@pytest.mark.parametrize("kind", KINDS)
def test_models_of_transformers_are_as_they_are_by_themselves(kind: str, tmp_path: Path) -> None:
    AutoConfig.for_model(kind, **SMALL, **KINDS[kind]).save_pretrained(tmp_path)
    torch.manual_seed(0)
    alone = AutoModelForCausalLM.from_config(
        AutoConfig.from_pretrained(tmp_path), attn_implementation="eager"
    )
    for weight in alone.parameters():
        nn.init.normal_(weight, std=0.3)
    alone.eval()
    with torch.device("meta"):
        built = model._pretrained(str(tmp_path))
    built.to_empty(device="cpu")
    built.net.tie_weights()  # type: ignore[operator]
    built.net.load_state_dict(alone.state_dict())
    for buffer, same in zip(built.net.buffers(), alone.buffers(), strict=True):
        buffer.copy_(same)
    built.eval()

    rows, targets = torch.randint(3, 64, (2, 2, 24))
    owners = (torch.arange(24) >= 10).long().expand(2, -1)
    one = torch.tensor(1.0)

    def expected(part: slice) -> Tensor:
        logits = alone(rows[:, part]).logits.flatten(0, 1)
        return functional.cross_entropy(logits, targets[:, part].flatten(), reduction="sum")

    with torch.no_grad():
        torch.testing.assert_close(built(rows, targets, one), expected(slice(24)))
        packed = built(rows, targets, one, model.packed(owners))
        apart = expected(slice(10)) + expected(slice(10, 24))
        assert torch.isclose(packed, apart, rtol=1e-4) == (kind not in MIX)


def test_dropout() -> None:
    query, key, value = torch.ones(3, 1, 2, 64, 8)
    found = attention.attention(torch.nn.Identity(), query, key, value, None, dropout=0.5)[0]
    assert set(found[0, 0].flatten().tolist()) <= {0.0, 2.0}  # the first sees itself, or nothing
