"""Models by name: presets, folders, and functions of the user's own."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from conftest import Settings
from torch import nn

from trainyard import model
from trainyard.config import ConfigError
from trainyard.presets import PRESETS

CPU = torch.device("cpu")

# The numbers of parameters that Qwen publishes for Qwen2.5 (of the larger
# ones rounded), and what `tiny` has.
PARAMETERS = {
    "tiny": 1_706_240,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
}

HOOK = """
import torch
from torch import nn

class Bigram(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(256, 256)

    def forward(self, tokens):
        return self.table(tokens)

def build(config):
    return Bigram()

def wrong(config):
    return "no module"

def shape(config):
    return Flat()

class Flat(nn.Module):
    def forward(self, tokens):
        return tokens.float()
"""


@pytest.mark.parametrize("name", PRESETS)
def test_presets(name: str, settings: Settings) -> None:
    net = model.build(settings("--model", name), CPU)
    assert model.parameter_count(net) == PARAMETERS[name]
    assert {parameter.dtype for parameter in net.parameters()} == {torch.float32}
    assert {parameter.device.type for parameter in net.parameters()} == {"meta"}
    assert len(net.layers) == PRESETS[name].layers


def test_size(settings: Settings) -> None:
    size = model.build(settings("--model", "qwen2.5-1.5b"), CPU).size()
    assert (size.layers, size.hidden, size.intermediate) == (28, 1536, 8960)
    assert size.layer_parameters == 46_797_824


@pytest.mark.parametrize("name", ["mine:build", "mine.py:build"])
def test_hook(
    name: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(HOOK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "mine", raising=False)
    config = settings("--model", name)
    net, again = model.build(config, CPU), model.build(config, CPU)
    assert model.parameter_count(net) == 256 * 256
    assert torch.equal(next(net.parameters()), next(again.parameters()))  # of one seed
    tokens = torch.arange(20).reshape(2, 10)
    loss = net(tokens, tokens, torch.tensor(1 / 20))
    assert loss.item() == pytest.approx(math.log(256), abs=1.5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing:build", "--model missing:build: No module named 'missing'"),
        ("mine:missing", "--model mine:missing: mine has no function 'missing'"),
        ("mine:wrong", "--model mine:wrong must return an nn.Module, not a str"),
        (
            "mine:shape",
            "mine:shape must return logits [batch, seq_len, vocabulary] for token ids "
            "[batch, seq_len], but returned a tensor [2, 10]",
        ),
    ],
)
def test_hook_faults(
    name: str,
    message: str,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "mine.py").write_text(HOOK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "mine", raising=False)
    tokens = torch.arange(20).reshape(2, 10)
    with pytest.raises(ConfigError) as caught:
        model.build(settings("--model", name), CPU)(tokens, tokens, torch.tensor(1.0))
    assert str(caught.value) == message


def test_unknown_model(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match=r"^unknown model 'nobody/nothing': it is no preset"):
        model.build(settings("--model", "nobody/nothing"), CPU)


def test_folder_without_a_model(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^reading the model in '.*': "):
        model.build(settings("--model", str(tmp_path)), CPU)


def test_blocks_are_not_what_is_inside_of_them() -> None:
    """Experts are more than layers are, and a layer may be used twice."""
    layers = [nn.ModuleDict({"experts": nn.ModuleList([nn.Linear(2, 2)] * 8)}) for _ in range(3)]
    net = nn.ModuleDict({"body": nn.ModuleDict({"layers": nn.ModuleList([*layers, layers[0]])})})
    assert model.LanguageModel(net, "test").layers == layers
