"""The model that is trained: a preset, a Hugging Face model, or the user's own.

build -> on the meta device, without memory
parallel.shard -> spread over ranks
weights.fill -> each rank makes or reads its own part
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

# From the modules themselves: the package's front door makes its imports lazy,
# but walks all models to do so.
from transformers.models.qwen2.configuration_qwen2 import Qwen2Config
from transformers.models.qwen2.modeling_qwen2 import Qwen2ForCausalLM

from trainyard import attention, hook
from trainyard.config import ConfigError, TrainConfig, is_hook
from trainyard.loss import IGNORED, linear_cross_entropy
from trainyard.plan import ModelSize
from trainyard.presets import PRESETS, ModelShape

Packing = dict[str, Tensor] | None
BOUNDARIES = ("position_ids", "cumulative_lengths")


class LanguageModel(nn.Module):
    """A model and its loss; what is sharded, compiled, trained and saved.

    net is the module that a hook or transformers made. Its forward pass takes
    token ids [batch, seq_len] and gives logits [batch, seq_len, vocabulary], as
    they are or as the attribute `logits` of what it returns.
    """

    def __init__(self, net: nn.Module, name: str) -> None:
        super().__init__()
        self.net = net
        self.name = name
        self._takes_documents = "documents" in inspect.signature(net.forward).parameters

    @property
    def layers(self) -> list[nn.Module]:
        """The blocks to shard and compile: the longest list of modules that net has.

        Lists inside of blocks, such as the experts of each, do not count, and of
        a block that is used several times one.
        """
        lists = [list(dict.fromkeys(found)) for found in _outermost_lists(self.net)]
        return max(lists, key=len, default=[])

    def forward(
        self, tokens: Tensor, targets: Tensor, scale: Tensor, packing: Packing = None
    ) -> Tensor:
        """scale times the summed cross-entropy, in nats: a scalar in fp32.

        tokens and targets are [batch, seq_len]; targets that are IGNORED do not
        count. packing says which documents share a row, see packed; None: one each.
        """
        extra = {}
        if self._takes_documents:
            extra["documents"] = packing["documents"] if packing else torch.zeros_like(tokens)
        output = self.net(tokens, **extra)
        logits = getattr(output, "logits", output)
        if not isinstance(logits, Tensor) or logits.dim() != 3 or logits.shape[:2] != tokens.shape:
            raise ConfigError(
                f"{self.name} must return logits [batch, seq_len, vocabulary] for token ids "
                f"[batch, seq_len], but returned {_kind(logits)}"
            )
        return summed_cross_entropy(logits, targets, scale)

    def size(self) -> ModelSize:
        config = getattr(self.net, "config", None)
        layers = self.layers
        return ModelSize(
            name=self.name,
            parameters=parameter_count(self),
            layer_parameters=max((parameter_count(layer) for layer in layers), default=0),
            layers=len(layers),
            hidden=getattr(config, "hidden_size", 0),
            intermediate=getattr(config, "intermediate_size", 0),
        )


def summed_cross_entropy(logits: Tensor, targets: Tensor, scale: Tensor) -> Tensor:
    """scale times the summed cross-entropy of logits [batch, seq_len, vocabulary]."""
    words = logits.flatten(0, 1).float()
    return scale * functional.cross_entropy(
        words, targets.flatten(), ignore_index=IGNORED, reduction="sum"
    )


class HuggingFaceModel(LanguageModel):
    """A causal language model of transformers, with packed rows and, mostly, without whole logits.

    Where its attention is its own, position_ids are all that tells documents
    apart; recurrent models do not look at them.
    """

    def __init__(self, net: nn.Module, name: str) -> None:
        super().__init__(net, name)
        ours = cast(Any, net).config._attn_implementation == attention.NAME
        takes = inspect.signature(net.forward).parameters
        self._about = [key for key in BOUNDARIES if ours or key in takes]
        self._head_is_matrix = _head_is_matrix(net)

    def forward(
        self, tokens: Tensor, targets: Tensor, scale: Tensor, packing: Packing = None
    ) -> Tensor:
        net = cast(Any, self.net)
        about = {name: packing[name] for name in self._about} if packing else {}
        if not self._head_is_matrix:
            logits = net(input_ids=tokens, use_cache=False, **about).logits
            return summed_cross_entropy(logits, targets, scale)
        output = net.base_model(input_ids=tokens, use_cache=False, **about)
        hidden = output.last_hidden_state.flatten(0, 1)
        weight = net.get_output_embeddings().weight
        return linear_cross_entropy(hidden, weight, targets.flatten(), scale)


def _outermost_lists(module: nn.Module) -> Iterator[nn.ModuleList]:
    for child in module.children():
        if isinstance(child, nn.ModuleList):
            yield child
        else:
            yield from _outermost_lists(child)


def packed(documents: Tensor) -> dict[str, Tensor]:
    """A forward pass's packing, from the number of each token's document in its row.

    documents are [batch, seq_len] on the CPU, where counting them makes no GPU wait.
    """
    return {"documents": documents, **attention.boundaries(documents)}


def build(config: TrainConfig, device: torch.device) -> LanguageModel:
    """The model that --model names. Its weights, if it is not a hook's, are yet to be filled.

    Raises ConfigError for one that cannot be found or used.
    """
    torch.manual_seed(config.seed)
    if is_hook(config.model):
        with device:
            return LanguageModel(_call_hook(config), config.model)
    with torch.device("meta"):
        if config.model in PRESETS:
            shape = qwen2_config(PRESETS[config.model], attn_implementation=attention.NAME)
            return HuggingFaceModel(Qwen2ForCausalLM(shape), config.model)
        return _pretrained(config.model)


def parameter_count(module: nn.Module) -> int:
    """Of the whole module, however it is sharded."""
    return sum(parameter.numel() for parameter in module.parameters())


def qwen2_config(shape: ModelShape, **more: Any) -> Qwen2Config:
    """The configuration of transformers for a preset."""
    return Qwen2Config(
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=shape.max_seq_len,
        tie_word_embeddings=shape.tied,
        use_cache=False,
        **more,
    )


def _pretrained(name: str) -> LanguageModel:
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(name)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(_not_found(name, error)) from error
    with contextlib.suppress(Exception):  # what they raise that know their own attention only
        net = _from_config(config, attention.NAME)
        if attention.replaces(net):
            return HuggingFaceModel(net, name)
    # transformers' choice, which leaves out what caps the scores.
    capped = getattr(config.get_text_config(), "attn_logit_softcapping", None) is not None
    try:
        return HuggingFaceModel(_from_config(config, "eager" if capped else None), name)
    except (ValueError, ImportError) as error:
        raise ConfigError(f"{name!r} is no causal language model: {_first_line(error)}") from error


def _from_config(config: Any, implementation: str | None) -> Any:
    from transformers import AutoModelForCausalLM

    own = copy.deepcopy(config)
    return AutoModelForCausalLM.from_config(own, attn_implementation=implementation)


# What models multiply their logits by, or bend them with.
SCALED = ("final_logit_softcapping", "logit_scale", "logits_scaling", "lm_head_multiplier")


def _head_is_matrix(net: nn.Module) -> bool:
    """Whether logits are nothing but hidden states times a matrix."""
    config = cast(Any, net).config.get_text_config()
    head = cast(Any, net).get_output_embeddings()
    return (
        isinstance(head, nn.Linear)
        and head.bias is None
        and cast(Any, net).base_model is not net
        and all(getattr(config, name, None) is None for name in SCALED)
    )


def _not_found(name: str, error: Exception) -> str:
    if Path(name).is_dir():
        return f"reading the model in {name!r}: {_first_line(error)}"
    presets = ", ".join(PRESETS)
    return (
        f"unknown model {name!r}: it is no preset ({presets}), no folder here, and Hugging Face "
        f"has no such model, or cannot be reached, or wants HF_TOKEN ({_first_line(error)})"
    )


def _call_hook(config: TrainConfig) -> nn.Module:
    """The module that the user's function makes, given the configuration."""
    net = hook.find(config.model)(config)
    if not isinstance(net, nn.Module):
        raise ConfigError(f"--model {config.model} must return an nn.Module, not {_kind(net)}")
    return net


def _kind(value: object) -> str:
    if isinstance(value, Tensor):
        return f"a tensor {list(value.shape)}"
    return f"a {type(value).__name__}"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
