from __future__ import annotations

import pytest
import torch
from conftest import Settings
from torch import nn

from trainyard import optimizer


def test_learning_rate(settings: Settings) -> None:
    def rates(*flags: str) -> list[float]:
        config = settings("--learning-rate", "0.1", "--warmup-steps", "20", *flags)
        return [optimizer.learning_rate(config, step) for step in (1, 10, 20, 110, 200)]

    assert rates() == pytest.approx([0.005, 0.05, 0.1, 0.1, 0.1])
    assert rates("--schedule", "cosine") == pytest.approx([0.005, 0.05, 0.1, 0.055, 0.01])
    wsd = rates("--schedule", "wsd")
    assert wsd[:4] == pytest.approx([0.005, 0.05, 0.1, 0.1])
    assert 0 < wsd[4] < 0.001


def model() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 3)


def updated(settings: Settings, clip: float, gradients: list[float]) -> torch.Tensor:
    net = model()
    adamw = optimizer.build_optimizer(net, settings())
    for gradient in gradients:
        for weight in net.parameters():
            weight.grad = torch.full_like(weight, gradient)
        optimizer.step(adamw, optimizer.gradient_norm(net), 0.1, clip)
    return net.weight.detach()


def test_clipping_is_torch_s(settings: Settings) -> None:
    net = model()
    adamw = optimizer.build_optimizer(net, settings())
    for gradient in (1.0, 100.0):
        for weight in net.parameters():
            weight.grad = torch.full_like(weight, gradient)
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        for group in adamw.param_groups:
            group["lr"] = 0.1
        adamw.step()
    clipped = updated(settings, 5.0, [1.0, 100.0])
    torch.testing.assert_close(clipped, net.weight.detach())
    assert not torch.allclose(clipped, updated(settings, 0, [1.0, 100.0]), atol=1e-3)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_gradients_that_are_not_finite_change_nothing(settings: Settings, bad: float) -> None:
    torch.testing.assert_close(updated(settings, 1.0, [bad, bad]), model().weight.detach())
