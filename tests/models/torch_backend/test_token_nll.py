"""How surprising tokens are: right, and of each row by itself."""

from collections.abc import Sequence

import numpy as np
import pytest

from discreet.models.protocol import Logits, Prompt
from discreet.models.transformers_model import TransformersModel

pytestmark = pytest.mark.usefixtures("two_threads")
TEXTS = ["The diagnosis is Flumplenax, as ever.", "The cat sat on the mat.", "No.", "A " * 40, ""]


def padded(model: TransformersModel, text: str, length: int = 24) -> Prompt:
    tokens = model.encode(text)[:length]
    return Prompt((model.pad_token,) * (length - len(tokens)) + tuple(tokens), length - len(tokens))


def test_it_is_what_the_model_says_of_each_token(smollm: TransformersModel) -> None:
    """Up to rounding: the same prefixes, fed whole, one after the other."""
    shared = smollm.encode("Record:\n")
    prompt = padded(smollm, TEXTS[0])
    told = smollm.token_nll(shared, [prompt])[0]
    tokens = prompt.tokens[prompt.padding :]
    for place, token in enumerate(tokens):
        logits = smollm.start((), [Prompt((*shared, *tokens[:place]), 0)], 1).logits()[0].astype(np.float64)
        expected = np.logaddexp.reduce(logits) - logits[token]
        assert abs(told[prompt.padding + place] - expected) < 0.6


def test_rows_are_fed_in_blocks_of_one_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether other sizes round otherwise is the processor's affair."""
    from discreet.models.token_scores import token_nll

    fed = list[int]()

    def of_block(_: object, __: object, prompts: Sequence[Prompt]) -> Logits:
        fed.append(len(prompts))
        return np.array([prompt.tokens for prompt in prompts], dtype=np.float32)

    monkeypatch.setattr("discreet.models.token_scores._of_block", of_block)
    for count in (1, 7, 8, 9, 17):
        assert token_nll(None, (5,), [Prompt((row,), 0) for row in range(count)])[:, 0].tolist() == list(range(count))
    assert len(fed) == 1 + 1 + 1 + 2 + 3
    assert len(set(fed)) == 1
