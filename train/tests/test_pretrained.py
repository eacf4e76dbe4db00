"""Files whose tensors are not as the module has them: read as from_pretrained reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import RunRanks, Settings
from safetensors.torch import load_file, save_file
from test_weights import SMALL, whole
from transformers import (
    AutoModelForCausalLM,
    DeepseekV3Config,
    FalconH1Config,
    GPTBigCodeConfig,
    GPTNeoXConfig,
    MixtralConfig,
    Qwen3MoeConfig,
)
from transformers.core_model_loading import ConversionOps, WeightConverter

from trainyard import conversion, pretrained
from trainyard.config import ConfigError, TrainConfig

# Experts: a number that two ranks cannot share evenly, and fewer than there are ranks.
EXPERTS = {"num_experts_per_tok": 1, "moe_intermediate_size": 24}
LOW_RANK: dict[str, Any] = {
    **{"q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8},
    **{"v_head_dim": 8, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1},
}
FAMILIES: dict[str, Any] = {
    "mixtral": MixtralConfig(**SMALL, num_local_experts=3, num_experts_per_tok=1),
    "mixtral of one": MixtralConfig(**SMALL, num_local_experts=1, num_experts_per_tok=1),
    "qwen3": Qwen3MoeConfig(**SMALL, **EXPERTS, num_experts=5, head_dim=8, decoder_sparse_step=2),
    "deepseek": DeepseekV3Config(**SMALL, **EXPERTS, **LOW_RANK, n_routed_experts=4),
    "neox": GPTNeoXConfig(**{key: value for key, value in SMALL.items() if "key" not in key}),
    "bigcode": GPTBigCodeConfig(vocab_size=256, n_embd=32, n_layer=2, n_head=4, n_positions=64),
    "falcon": FalconH1Config(
        **SMALL, mamba_d_ssm=64, mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8
    ),
}
EXPERT = "model.layers.1.block_sparse_moe.experts.2.w1.weight"


def save(folder: Path, name: str, **more: Any) -> Any:
    """Random weights in files, a bias or a scale no less than a matrix."""
    net: Any = AutoModelForCausalLM.from_config(FAMILIES[name], dtype=torch.float32)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_()
    net.save_pretrained(folder, **more)
    return net


def loaded(folder: Path) -> dict[str, torch.Tensor]:
    net: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    state: dict[str, torch.Tensor] = net.state_dict()
    return state


def empty(folder: Path) -> Any:
    about = AutoModelForCausalLM.from_pretrained(folder).config
    return AutoModelForCausalLM.from_config(about, dtype=torch.float32)


def test_read(tmp_path: Path, settings: Settings, run_ranks: RunRanks) -> None:
    for name in FAMILIES:
        save(tmp_path / name, name)
    configs = [settings("--model", str(tmp_path / name)) for name in FAMILIES]
    shared = run_ranks(2, wholes, configs)
    for name, (found, first), (_, second) in zip(FAMILIES, *shared, strict=True):
        expected = loaded(tmp_path / name)
        alone = empty(tmp_path / name)
        pretrained.read(alone, tmp_path / name, name)
        assert found.keys() == expected.keys() == alone.state_dict().keys()
        for key, value in expected.items():
            assert torch.equal(found[key], value), (name, key)
            assert torch.equal(alone.state_dict()[key], value), (name, key)
        experts = [
            key for key in load_file(tmp_path / name / "model.safetensors") if ".experts." in key
        ]
        assert sorted(first + second) == sorted(experts)  # of each, one rank read it


def wholes(configs: list[TrainConfig]) -> list[tuple[dict[str, torch.Tensor], list[str]]]:
    """The state of each model, put together, and what this rank read of experts."""
    results = []
    read = pretrained.Files.read
    for config in configs:
        names: list[str] = []

        def noted(files: pretrained.Files, name: str, names: list[str] = names) -> torch.Tensor:
            names.append(name)
            return read(files, name)

        pretrained.Files.read = noted  # type: ignore[method-assign,assignment]
        results.append((whole(config, 2), names))
    return results


@pytest.mark.parametrize("name", ["bigcode", "falcon"])
def test_buffers_that_no_file_holds(
    name: str, tmp_path: Path, settings: Settings, run_ranks: RunRanks
) -> None:
    """One beside modules, and one that a module above makes, are made like those of leaves."""
    expected = dict(save(tmp_path, name).named_buffers())
    found = run_ranks(1, buffers, settings("--model", str(tmp_path)))[0]
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert torch.equal(found[key], value), key


def buffers(config: TrainConfig) -> dict[str, torch.Tensor]:
    from trainyard import model, weights
    from trainyard.parallel import distributed

    with distributed() as world:
        net = model.build(config, world.device)
        weights.fill(net, weights.twins(net), config, world)
        return dict(net.net.named_buffers())


def test_read_files_with_fused_experts(tmp_path: Path) -> None:
    saved = save(tmp_path, "mixtral", save_original_format=False)
    found = empty(tmp_path)
    pretrained.read(found, tmp_path, "test")
    for key, value in saved.state_dict().items():
        assert torch.equal(found.state_dict()[key], value), key


def test_missing_experts_are_named(tmp_path: Path) -> None:
    save(tmp_path, "mixtral")
    net, file = empty(tmp_path), tmp_path / "model.safetensors"
    tensors = load_file(file)
    del tensors[EXPERT]
    save_file(tensors, file)
    assert (
        problem(net, tmp_path)
        == f"the weights of 'it' do not match its config: {EXPERT} is missing"
    )
    for matrix in ("w2", "w3"):
        del tensors[EXPERT.replace("w1", matrix)]
    save_file(tensors, file)
    assert f"{EXPERT.replace('w1', 'w3')} is missing" in problem(net, tmp_path)
    save_file({key: value for key, value in tensors.items() if "experts" not in key}, file)
    assert "model.layers.0.mlp.experts.gate_up_proj is missing" in problem(net, tmp_path)


def test_experts_of_another_shape(tmp_path: Path) -> None:
    save(tmp_path, "mixtral")
    net = AutoModelForCausalLM.from_config(
        MixtralConfig(**{**SMALL, "intermediate_size": 32}, num_local_experts=3)
    )
    key = "model.layers.0.mlp.experts.gate_up_proj"
    assert f"{key} is [3, 128, 32] and should be [3, 64, 32]" in problem(net, tmp_path)


def problem(net: Any, folder: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        pretrained.read(net, folder, "it")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_quantized_weights_are_refused(tmp_path: Path) -> None:
    save(tmp_path, "mixtral")
    net, file = empty(tmp_path), tmp_path / "model.safetensors"
    tensors = load_file(file)
    save_file({**tensors, EXPERT: tensors[EXPERT].to(torch.float8_e4m3fn)}, file)
    assert problem(net, tmp_path) == (
        f"the weights of 'it' are quantized ({EXPERT} is F8_E4M3), which cannot be trained: "
        "name a model in bf16, or have transformers dequantize this one and save_pretrained it"
    )
    net.config.quantization_config = {"quant_method": "mxfp4"}
    assert "are quantized (mxfp4), which" in problem(net, tmp_path)


class Unknown(ConversionOps):  # type: ignore[misc]
    def convert(self, *_: Any, **__: Any) -> dict[str, torch.Tensor]:
        raise NotImplementedError("it needs\na kernel")


def test_conversions_that_cannot_be_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, "bigcode")
    steps = [WeightConverter("ln_f.weight", "ln_f.weight", [Unknown()])]
    monkeypatch.setattr(conversion, "get_model_conversion_mapping", lambda *_, **__: steps)
    assert problem(empty(tmp_path), tmp_path) == (
        "the weights of 'it' cannot be used: transformers cannot make transformer.ln_f.weight "
        "of transformer.ln_f.weight: it needs"
    )
