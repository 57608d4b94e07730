"""Numbers that a machine computes fast, and rows that stay what they are wherever they stand."""

import os
import subprocess
import sys

import pytest
import torch

from discreet.errors import DiscreetError
from discreet.processor import check_rows, computes_bfloat16, numbers


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
def test_bfloat16_is_for_processors_that_have_instructions_for_it(has: dict[str, bool], fast: bool) -> None:
    assert computes_bfloat16(has) == fast


def test_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for has, kind in (({"avx512_bf16": True}, torch.bfloat16), ({"avx2": True}, torch.float32)):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda has=has: has)
        assert numbers() == kind


def test_a_gpu_that_emulates_bfloat16_computes_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def supported(including_emulation: bool = True) -> bool:
        asked.append(including_emulation)
        return False

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    assert numbers("cuda:1") == torch.float32
    assert asked == [False]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rows_of_this_machine_do_not_depend_on_their_place(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        check_rows(torch.nn.Sequential(torch.nn.Linear(576, 192), torch.nn.Linear(192, 1536)))
    finally:
        torch.set_num_threads(before)


def test_a_product_that_rounds_by_place_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = torch.nn.functional.linear

    def linear(rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        made = real(rows, weight)
        if len(rows) == 7:
            made[-1] *= 1 + 1e-6
        return made

    monkeypatch.setattr(torch.nn.functional, "linear", linear)
    with pytest.raises(DiscreetError, match=r"Among 7 rows.*MKL_CBWR"):
        check_rows(torch.nn.Linear(576, 192))


def test_whoever_imports_discreet_has_rows_stay_what_they_are() -> None:
    """The setting is there before the first product; what a user has set stays."""
    told = "import discreet, os, sys; print(os.environ['MKL_CBWR'], 'torch' in sys.modules)"
    for given, kept in ({}, "AUTO,STRICT False"), ({"MKL_CBWR": "AVX2"}, "AVX2 False"):
        others = {name: value for name, value in os.environ.items() if name != "MKL_CBWR"}
        said = subprocess.run([sys.executable, "-c", told], env=others | given, capture_output=True, text=True)
        assert said.stdout.strip() == kept
