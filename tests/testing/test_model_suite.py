"""The suite of language models passes the project's own models, and catches broken ones."""

import math
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.models.answers import Written
from discreet.models.completer import CompleterAdapter, FunctionModel
from discreet.models.protocol import Completer, Logits, Prompt, Tokens
from discreet.models.toy import ToyDecoding, ToyModel
from discreet.models.transformers_model import TransformersModel
from discreet.testing import ModelSuite
from tests.testing.harness import failing, fails


def repeat_first_words(prompt: str, max_tokens: int) -> str:
    return " ".join(prompt.split()[:max_tokens])


class TestFunctionModel(ModelSuite):
    @pytest.fixture(params=[False, True], ids=["dependent", "independent"])
    def model(self, request: pytest.FixtureRequest) -> Completer:
        return FunctionModel(repeat_first_words, row_independent=request.param)


class TestToyModel(ModelSuite):
    @pytest.fixture
    def model(self) -> Completer:
        return ToyModel()

    @pytest.fixture
    def tolerance(self) -> float:
        return math.inf  # its losses are lengths of words


class TestPackagedModel(ModelSuite):
    @pytest.fixture
    def model(self, smollm: TransformersModel) -> Completer:
        return smollm


class Samples(ToyModel):
    """Completes a prompt with another word each time."""

    def __init__(self) -> None:
        super().__init__()
        self._drawn: Iterator[int] = count()

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        return [f" word{next(self._drawn)}" for _ in prompts]


class WritesTooMuch(ToyModel):
    """Completes by two tokens more than allowed."""

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        return super().complete(prompts, max_tokens + 2)


class RepeatsThePrompt(ToyModel):
    """Returns the prompt with its completion."""

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        return [prompt + text for prompt, text in zip(prompts, super().complete(prompts, max_tokens), strict=True)]


class WritesTheLastWords(ToyModel):
    """Completes by the last words of an answer instead of the first."""

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        return [" ".join(text.split()[-max_tokens:]) for text in super().complete(prompts, 9)]


class TellsErrors(ToyModel):
    """Fails for a private prompt."""

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        return [super(TellsErrors, self).complete([prompt.encode().decode()], max_tokens)[0] for prompt in prompts]


class CompletesLikeItsNeighbour(ToyModel):
    """Completes a prompt like the prompt before it in the batch."""

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        found = super().complete(prompts, max_tokens)
        return [found[max(row - 1, 0)] for row in range(len(found))]


class ReadsControlTokens(ToyModel):
    """Encodes the text of the end token as the end token."""

    def encode(self, text: str) -> list[int]:
        return [0 if word == "<end>" else super(ReadsControlTokens, self).encode(word)[0] for word in text.split()]


class KeepsTokens(ToyDecoding):
    """Does not truncate."""

    def truncate(self, length: int) -> None:
        pass


class SkipsOwnTokens(ToyDecoding):
    """Does not continue rows by their own tokens."""

    def append_each(self, tokens: Sequence[int]) -> None:
        pass


class SharesLogits(ToyDecoding):
    """Adds to each row a little of the row before it."""

    def logits(self) -> Logits:
        own = super().logits()
        return (own + 0.01 * np.roll(own, 1, axis=0)).astype(np.float32)


class VotesTogether(ToyDecoding):
    """Returns the largest of all best tokens if the first row ends."""

    def best(self) -> Tokens:
        own = super().best()
        return np.full_like(own, own.max()) if own[0] == 0 else own


class ShiftsLogits(ToyDecoding):
    """Returns the logit of each token for the token after it."""

    def logits(self) -> Logits:
        return np.roll(super().logits(), 1, axis=1)


class Broken(ToyModel):
    """A toy model with broken batches."""

    def __init__(self, kind: type[ToyDecoding]) -> None:
        super().__init__()
        self._kind = kind

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ToyDecoding:
        return self._kind([self._wish(prompt) for prompt in prompts], self.vocabulary_size)


class ReadsPadding(ToyModel):
    """Reads the padding of a prompt."""

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ToyDecoding:
        return ToyDecoding([[prompt.tokens[0], 3] for prompt in prompts], self.vocabulary_size)


class AveragesLosses(ToyModel):
    """Subtracts the mean loss of the batch."""

    def token_nll(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        losses = super().token_nll(shared, prompts)
        found: Logits = np.abs(losses - losses.mean()).astype(np.float32)
        return found


class AnswersShort(ToyModel):
    """Leaves out the last word of each answer."""

    def answers(self, *given: Any, **named: Any) -> list[Written]:
        found = super().answers(*given, **named)
        return [Written(self.decode(one.tokens[:-1]), one.tokens[:-1], True) for one in found]


class AnswersTogether(ToyModel):
    """Gives all rows the longest answer of the batch."""

    def answers(self, *given: Any, **named: Any) -> list[Written]:
        found = super().answers(*given, **named)
        return [max(found, key=lambda one: len(one.tokens))] * len(found)


def suite_fixtures(model: Completer, tolerance: float = math.inf) -> dict[str, Any]:
    return {"model": model, "count_tokens": lambda text: len(text.split()), "tolerance": tolerance}


def test_model_suite_passes_sound_models(tmp_path: Path) -> None:
    for model in (ToyModel(), CompleterAdapter(FunctionModel(repeat_first_words, row_independent=True))):
        assert failing(ModelSuite(), tmp_path / model.name, **suite_fixtures(model)) == set()


@pytest.mark.parametrize(
    ("twin", "test"),
    [
        (Samples(), "test_completion_is_deterministic"),
        (WritesTooMuch(), "test_completion_has_at_most_max_tokens"),
        (WritesTooMuch(), "test_completion_consists_of_the_best_tokens"),
        (RepeatsThePrompt(), "test_completion_has_at_most_max_tokens"),
        (WritesTheLastWords(), "test_longer_completion_continues_the_shorter"),
        (TellsErrors(), "test_private_prompt_causes_no_error"),
        (CompletesLikeItsNeighbour(), "test_completion_depends_on_its_prompt_alone"),
        (ReadsControlTokens(), "test_text_does_not_become_a_control_token"),
        (AnswersShort(), "test_answer_consists_of_the_best_tokens"),
        (AnswersTogether(), "test_answer_depends_on_its_prompt_alone"),
        (Broken(KeepsTokens), "test_truncated_rows_continue_like_new_rows"),
        (Broken(SkipsOwnTokens), "test_rows_with_one_token_continue_like_append"),
        (Broken(SharesLogits), "test_row_depends_on_its_prompt_alone"),
        (Broken(VotesTogether), "test_row_depends_on_its_prompt_alone"),
        (Broken(ShiftsLogits), "test_best_token_has_the_largest_logit"),
        (ReadsPadding(), "test_padding_has_no_influence"),
        (AveragesLosses(), "test_losses_depend_on_their_prompt_alone"),
    ],
)
def test_model_suite_catches_broken_model(twin: Completer, test: str, tmp_path: Path) -> None:
    assert fails(ModelSuite(), test, tmp_path, **suite_fixtures(twin))
