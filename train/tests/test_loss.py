from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from trainyard import loss
from trainyard.loss import IGNORED, linear_cross_entropy


@pytest.mark.parametrize("rows", [3, 10, 100])
def test_equals_cross_entropy(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces of any size, with the gradients that autograd finds for the whole."""
    monkeypatch.setattr(loss, "PIECE", rows * 7)
    torch.manual_seed(0)
    hidden = torch.randn(10, 4, dtype=torch.float64).float().requires_grad_()
    weight = torch.randn(7, 4).requires_grad_()
    targets = torch.tensor([0, 1, 2, 3, 4, 5, 6, IGNORED, 0, IGNORED])
    scale = torch.tensor(0.25)

    expected = functional.cross_entropy(hidden @ weight.T, targets, reduction="sum") * scale
    gradients = torch.autograd.grad(expected * 3, (hidden, weight))
    found = linear_cross_entropy(hidden, weight, targets, scale)
    torch.testing.assert_close(found, expected)
    found_gradients = torch.autograd.grad(found * 3, (hidden, weight))
    for ours, theirs in zip(found_gradients, gradients, strict=True):
        torch.testing.assert_close(ours, theirs)
    with torch.no_grad():
        torch.testing.assert_close(linear_cross_entropy(hidden, weight, targets, scale), expected)


def test_large_logits_are_finite() -> None:
    hidden, weight = torch.full((2, 1), 1e4), torch.tensor([[1.0], [-1.0]])
    found = linear_cross_entropy(hidden, weight, torch.tensor([0, 1]), torch.tensor(1.0))
    assert found.item() == pytest.approx(2e4)
