"""Choose the compute dtype (bfloat16 or float32) from the capabilities of the CPU or GPU.

A CPU without instructions for bfloat16 emulates it. On one core of a Zen 3 (AVX2), bfloat16 is then 0.11 to 0.13 times
as fast as float32 (docs/results/index.md).
"""

from collections.abc import Mapping
from typing import Any

INSTRUCTIONS = ("avx512_bf16", "amx_bf16", "bf16")  # of x86, of x86 with a matrix unit, of ARM
"""The names of instructions for bfloat16 in torch."""


def compute_dtype(device: str = "cpu") -> Any:
    """Return the torch.dtype for a model on "cpu" or "cuda", by what torch reports. A timing would vary."""
    import torch

    if device.startswith("cuda"):
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = has_bfloat16_instructions(torch.cpu.get_capabilities())
    return torch.bfloat16 if fast else torch.float32


def has_bfloat16_instructions(capabilities: Mapping[str, Any]) -> bool:
    """Return whether a processor has instructions for bfloat16, by its capabilities as torch names them."""
    return any(capabilities.get(name) for name in INSTRUCTIONS)
