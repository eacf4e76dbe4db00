from __future__ import annotations

import pytest
import torch
from conftest import Settings
from torch import nn

from trainyard import float8
from trainyard.config import ConfigError

CPU = torch.device("cpu")


def layer(outputs: int = 2048) -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(1024, outputs)


def relative_error(found: torch.Tensor | None, wanted: torch.Tensor | None) -> float:
    assert found is not None and wanted is not None
    return float((found - wanted).detach().norm() / wanted.detach().norm())


def test_products_are_those_of_fp32_with_fewer_digits(settings: Settings) -> None:
    exact, rounded = layer(), layer()
    float8.convert([rounded], settings("--batch-size", "2", "--seq-len", "8"), CPU)
    assert type(rounded) is float8.Float8Linear
    assert rounded.state_dict().keys() == exact.state_dict().keys()
    rows = torch.randn(2, 8, 1024)
    inputs = [rows.clone().requires_grad_(), rows.clone().requires_grad_()]
    weights = torch.randn(2, 8, 2048) * 1e-6  # as small as gradients are
    outputs = [net(one) for net, one in zip((exact, rounded), inputs, strict=True)]
    for output in outputs:
        (output * weights).sum().backward()
    # e4m3 has 3 digits after the point and e5m2 has 2: errors of up to 1/16 and
    # 1/8 in each factor, of which most cancel out.
    assert 0.001 < relative_error(outputs[1], outputs[0]) < 0.05
    assert 0.001 < relative_error(inputs[1].grad, inputs[0].grad) < 0.08
    assert 0.001 < relative_error(rounded.weight.grad, exact.weight.grad) < 0.08
    torch.testing.assert_close(rounded.bias.grad, exact.bias.grad)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_stays_so(bad: float) -> None:
    rows = torch.ones(16, 16)
    rows[3, 4] = bad
    values, scale = float8.scaled(rows, float8.E4M3)
    assert not (values.float() * scale).isfinite().all()


def test_zeros_stay_zeros() -> None:
    values, scale = float8.scaled(torch.zeros(16, 16), float8.E5M2)
    assert (values.float() * scale == 0).all()


def test_small_layers_and_those_of_another_kind_stay(settings: Settings) -> None:
    class Router(nn.Linear):
        pass

    block = nn.ModuleList([nn.Linear(1024, 1032), layer(8), Router(1024, 1024), layer()])
    float8.convert([block], settings("--batch-size", "1", "--seq-len", "16"), CPU)
    kinds = [type(part) for part in block]
    assert kinds == [nn.Linear, nn.Linear, Router, float8.Float8Linear]


def test_refused(settings: Settings) -> None:
    with pytest.raises(ConfigError, match=r"no block of the model has an nn.Linear of 1024 x 1024"):
        float8.convert([layer(8)], settings("--seq-len", "16"), CPU)
    with pytest.raises(ConfigError, match=r"a multiple of 16 tokens a batch, not 15"):
        float8.convert([layer()], settings("--batch-size", "1", "--seq-len", "15"), CPU)
