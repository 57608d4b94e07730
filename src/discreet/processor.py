"""What a machine's processor decides: the numbers that models compute in.

A processor without instructions for bfloat16 emulates it: on one core of a Zen 3 (AVX2) it is 0.11 to 0.13 times as
fast as float32 (`benchmarks/processor.py`).
"""

from collections.abc import Mapping
from typing import Any

INSTRUCTIONS = ("avx512_bf16", "amx_bf16", "bf16")  # of x86, of x86 with a matrix unit, of ARM
"""What torch calls instructions for bfloat16."""


def numbers(device: str = "cpu") -> Any:
    """The torch.dtype for a model on "cpu" or "cuda"; what torch reports decides, never a timing, which would vary."""
    import torch

    if device.startswith("cuda"):
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = computes_bfloat16(torch.cpu.get_capabilities())
    return torch.bfloat16 if fast else torch.float32


def computes_bfloat16(capabilities: Mapping[str, Any]) -> bool:
    """Whether a processor with these capabilities, named as torch does, has instructions for bfloat16."""
    return any(capabilities.get(name) for name in INSTRUCTIONS)
