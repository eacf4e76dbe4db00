from __future__ import annotations

import pytest
import torch

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
