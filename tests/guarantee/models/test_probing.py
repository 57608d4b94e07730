"""A model that declares independent rows is tested for it on public prompts."""

from collections.abc import Sequence

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.models.capabilities import check_row_independence
from discreet.models.completer import CompleterAdapter, FunctionModel
from discreet.models.protocol import Logits, Prompt
from discreet.models.toy import ToyDecoding, ToyModel
from discreet.models.transformers_model import TransformersModel


class Counting(FunctionModel):
    """Completes a prompt by its position in the batch."""

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        return [str(place) for place, _ in enumerate(prompts)]


class Averaging(ToyModel):
    """Shifts the loss of each row by the mean length of the batch."""

    def token_nll(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        shift = np.float32(np.mean([prompt.padding for prompt in prompts]))
        return super().token_nll(shared, prompts) + shift


class Positional(ToyModel):
    """Votes by a row's position."""

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ToyDecoding:
        return ToyDecoding([[2 + row, 3, 4] for row, _ in enumerate(prompts)], self.vocabulary_size)


def test_check_accepts_independent_rows() -> None:
    check_row_independence(ToyModel())
    check_row_independence(FunctionModel(lambda prompt, _: prompt[::-1], row_independent=True))


@pytest.mark.usefixtures("two_threads")
def test_check_accepts_the_packaged_model(smollm: TransformersModel) -> None:
    assert smollm.row_independent
    check_row_independence(smollm)


@pytest.mark.parametrize("adapted", [False, True])
def test_check_refuses_completions_by_position(adapted: bool) -> None:
    model = Counting(lambda *_: "", row_independent=True)
    with pytest.raises(DiscreetError, match="declares row_independent=True"):
        check_row_independence(CompleterAdapter(model) if adapted else model)
    check_row_independence(Counting(lambda *_: "", row_independent=False))


@pytest.mark.parametrize("kind", [Averaging, Positional])
def test_check_refuses_rows_that_depend_on_others(kind: type[ToyModel]) -> None:
    with pytest.raises(DiscreetError, match="changed with the other prompts"):
        check_row_independence(kind())
