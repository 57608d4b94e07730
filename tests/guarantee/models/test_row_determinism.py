"""Rows that stay what they are wherever they stand."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from discreet.errors import DiscreetError
from discreet.numerics import (
    apply_by_whole_rows,
    check_attention,
    check_elementwise_steps,
    check_matrix_products,
    enforce_row_determinism,
)
from tests.later import Later

if TYPE_CHECKING:
    import torch
    from transformers import activations
else:
    torch, activations = Later("torch"), Later("transformers.activations")


@pytest.fixture
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 7], indirect=True)
@pytest.mark.usefixtures("threads")
def test_rows_of_this_machine_do_not_depend_on_their_place() -> None:
    """Without `enforce_row_determinism` the rows of an activation do, from five threads on, with AVX2."""
    enforce_row_determinism(
        torch.nn.Sequential(torch.nn.Linear(576, 1536), activations.SiLUActivation(), torch.nn.Linear(1536, 192))
    )


@pytest.mark.parametrize("threads", [7], indirect=True)
@pytest.mark.parametrize(("width", "name"), [(1536, "SiLUActivation"), (96, "GELUActivation"), (10, "GELU")])
@pytest.mark.usefixtures("threads")
def test_an_activation_in_pieces_is_that_activation(width: int, name: str) -> None:
    activation: torch.nn.Module = getattr(torch.nn if name == "GELU" else activations, name)()
    for tokens in (1, 17, 199):
        rows = torch.randn(1, tokens, width).repeat(7, 1, 1)
        found = apply_by_whole_rows(activation)(rows)
        assert torch.allclose(found, activation(rows))
        assert bool((found == found[:1]).all())


def crooked_activation() -> "torch.nn.Module":
    class CrookedActivation(torch.nn.Module):
        """Works out the last few numbers that it is given otherwise, as a thread's remainder is."""

        def forward(self, numbers: torch.Tensor) -> torch.Tensor:
            made = numbers.clone()
            made.view(-1)[-3:] *= 1 + 1e-6
            return made

    return CrookedActivation()


def crooked_rotary_embedding() -> "torch.nn.Module":
    class CrookedRotaryEmbedding(torch.nn.Module):
        def forward(self, x: torch.Tensor, position_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            angles = position_ids[..., None].double() / torch.arange(1, 9)
            sines = angles.sin()
            sines.view(-1)[-3:] *= 1 + 1e-6
            return angles.cos(), sines

    return CrookedRotaryEmbedding()


@pytest.mark.parametrize("part", [crooked_activation, crooked_rotary_embedding])
def test_a_step_that_rounds_by_place_is_caught(part: "Callable[[], torch.nn.Module]") -> None:
    model = torch.nn.Sequential(torch.nn.Linear(96, 64), part())
    with pytest.raises(DiscreetError, match=r"equal rows of a batch.*MKL_CBWR"):
        check_elementwise_steps(model)
    if part is crooked_rotary_embedding:
        enforce_row_determinism(model)  # row by row each has the same remainder


def test_a_product_that_rounds_by_place_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = torch.nn.functional.linear

    def linear(rows: "torch.Tensor", weight: "torch.Tensor") -> "torch.Tensor":
        made = real(rows, weight)
        if len(rows) == 7:
            made[-1] *= 1 + 1e-6
        return made

    monkeypatch.setattr(torch.nn.functional, "linear", linear)
    with pytest.raises(DiscreetError, match=r"Among 7 rows.*MKL_CBWR"):
        check_matrix_products(torch.nn.Linear(576, 192))


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 7], indirect=True)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.usefixtures("threads")
def test_attention_of_this_machine_does_not_depend_on_the_place_of_a_row(dtype: str) -> None:
    check_attention(torch.nn.Linear(96, 64, dtype=getattr(torch, dtype)))


def test_an_attention_that_rounds_by_place_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Any = torch.nn.functional.scaled_dot_product_attention

    def attention(*parts: "torch.Tensor", **given: Any) -> "torch.Tensor":
        made: torch.Tensor = real(*parts, **given)
        made[-1, -1, -1, -1] *= 1 + 1e-6
        return made

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", attention)
    with pytest.raises(DiscreetError, match=r"equal rows of a batch.*MKL_CBWR"):
        check_attention(torch.nn.Linear(96, 64))


def test_whoever_imports_discreet_has_rows_stay_what_they_are() -> None:
    """The setting is there before the first product; what a user has set stays."""
    told = "import discreet, os, sys; print(os.environ['MKL_CBWR'], 'torch' in sys.modules)"
    for given, kept in ({}, "AUTO,STRICT False"), ({"MKL_CBWR": "AVX2"}, "AVX2 False"):
        others = {name: value for name, value in os.environ.items() if name != "MKL_CBWR"}
        said = subprocess.run([sys.executable, "-c", told], env=others | given, capture_output=True, text=True)
        assert said.stdout.strip() == kept
