"""What a machine's processor decides: the numbers that models compute in, and whether a row stays what it is.

A processor without instructions for bfloat16 emulates it: on one core of a Zen 3 (AVX2) it is 0.11 to 0.13 times as
fast as float32 (`benchmarks/processor.py`).

A row of a product must not depend on where it stands among the others, in any bit: when a unit goes, those behind it
move up. Intel's library, which multiplies in float32, keeps to that only if told so before its first use; with two
threads and 5 to 11 rows it otherwise does not.
"""

import os
from collections.abc import Mapping
from typing import Any

from discreet.errors import DiscreetError

os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

INSTRUCTIONS = ("avx512_bf16", "amx_bf16", "bf16")  # of x86, of x86 with a matrix unit, of ARM
"""What torch calls instructions for bfloat16."""

_ROWS = (3, 5, 7, 8, 11, 32, 41)
_HELP = {
    "cpu": (
        "Import discreet before anything else computes, or set MKL_CBWR=AUTO,STRICT before Python starts; if neither "
        "helps, answer private questions on another machine."
    ),
    "cuda": "Hide the GPU, so that the processor computes: CUDA_VISIBLE_DEVICES= (empty).",
}


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


def check_rows(model: Any) -> None:
    """Multiply public rows by matrices of the model's shapes, in two orders, and compare bit for bit.

    Raises:
        DiscreetError: on this machine a row depends on its place: what the guarantees rest on does not hold.
    """
    import torch

    shapes = {tuple(weight.shape): weight for weight in model.parameters() if weight.dim() == 2}
    with torch.inference_mode():
        for (_, width), weight in shapes.items():
            numbered = torch.arange(max(_ROWS) * width, dtype=torch.float64)
            rows = torch.sin(numbered).reshape(-1, width).to(weight)
            for count in _ROWS:
                straight = torch.nn.functional.linear(rows[:count], weight)
                turned = torch.nn.functional.linear(rows[:count].flip(0), weight).flip(0)
                if not torch.equal(straight, turned):
                    raise DiscreetError(
                        f"Among {count} rows, what this machine computes for one depends on its place (matrix of "
                        f"{weight.shape[0]} x {width}), so a document could change what is said of others. "
                        f"{_HELP['cuda' if weight.is_cuda else 'cpu']}"
                    )
