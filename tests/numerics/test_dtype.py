"""Numbers that a machine computes fast."""

from typing import TYPE_CHECKING

import pytest

from discreet.numerics import compute_dtype, has_bfloat16_instructions
from tests.later import Later

if TYPE_CHECKING:
    import torch
else:
    torch = Later("torch")


@pytest.mark.parametrize(
    ("has", "fast"),
    [
        ({"avx2": True, "avx512_bf16": False, "amx_bf16": False}, False),  # Zen 3
        ({"avx512_f": True, "avx512_bf16": False}, False),  # Skylake: torch would emulate it
        ({"avx512_f": True, "avx512_bf16": True}, True),  # Zen 4
        ({"amx_bf16": True}, True),
        ({"neon": True, "bf16": True}, True),  # Graviton 3
        ({"neon": True, "bf16": False}, False),
        ({}, False),
    ],
)
def test_bfloat16_needs_processors_with_its_instructions(has: dict[str, bool], fast: bool) -> None:
    assert has_bfloat16_instructions(has) == fast


def test_a_gpu_that_emulates_bfloat16_computes_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def supported(including_emulation: bool = True) -> bool:
        asked.append(including_emulation)
        return False

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    assert compute_dtype("cuda:1") == torch.float32
    assert asked == [False]
