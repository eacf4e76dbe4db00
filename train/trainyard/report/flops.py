"""How much of a device's arithmetic a run uses."""

from __future__ import annotations

import re

# The most that each GPU does in a second, in 10^12 floating-point operations:
# dense matrix products in bf16 with fp32 accumulation (fp16 for V100 and T4,
# which have no bf16 units), without sparsity, from NVIDIA's data sheets. The
# first row whose words are all in the device's name counts.
PEAK_TERAFLOPS = (
    ("GB300", 2500),
    ("GB200", 2500),
    ("B300", 2250),
    ("B200", 2250),
    ("H100 PCIe", 756),
    ("H100 NVL", 835),
    ("GH200", 989),
    ("H200 NVL", 835),
    ("H200", 989),
    ("H100", 989),
    ("A100", 312),
    ("A10G", 70),
    ("A10", 125),
    ("L40S", 362),
    ("L40", 181),
    ("L4", 121),
    ("V100 PCIE", 112),
    ("V100", 125),
    ("T4", 65),
)


def peak(device_name: str) -> float | None:
    """The operations a second that a device of this name can do; None if not known."""
    words = set(re.split(r"[\s/-]+", device_name.upper()))
    for name, teraflops in PEAK_TERAFLOPS:
        if words.issuperset(name.upper().split()):
            return teraflops * 1e12
    return None


def flops_per_token(parameters: int, layers: int, hidden_size: int, seq_len: int) -> float:
    """The operations of a forward and a backward pass for one token.

    parameters are those that take part in matrix products: the embedding only
    where it is the output layer too. Source: PaLM (Chowdhery et al. 2022),
    appendix B: 6N + 12LHQT, HQ being the hidden size. What activation
    checkpointing computes a second time does not count.
    """
    return 6.0 * parameters + 12.0 * layers * hidden_size * seq_len


def mfu(
    tokens_per_second: float, per_token: float | None, peak: float | None, devices: int
) -> float | None:
    """Model FLOPs utilization, from 0 to 1, of all devices together."""
    if per_token is None or peak is None:
        return None
    return tokens_per_second * per_token / (peak * devices)
