"""Whole answers: by a model's own `answers` or by steps, in a public number of steps, without prompts in errors."""

import traceback
from collections.abc import Sequence
from typing import Any

import pytest

from discreet.errors import DiscreetError, EngineFailed, PrivateValueError, UsageError
from discreet.models.answers import WholeAnswers, Written, write_answers
from discreet.models.protocol import Prompt, VotingModel
from discreet.models.toy import ToyDecoding, ToyModel
from discreet.models.voters import VoterBatch
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private

SECRET = "Ada say: red hand ."


class Counting(ToyModel):
    """Counts the steps of all batches."""

    def __init__(self) -> None:
        super().__init__(default="nothing known")
        self.started = self.steps = 0

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ToyDecoding:
        model, self.started = self, self.started + 1

        class Decoding(ToyDecoding):
            def append_each(self, tokens: Sequence[int]) -> None:
                model.steps += 1
                super().append_each(tokens)

        return Decoding([self._wish(prompt) for prompt in prompts], self.vocabulary_size)


class Engine(WholeAnswers, ToyModel):  # type: ignore[misc]
    """An engine that makes whole answers only."""

    def __init__(self, failure: Exception | None = None) -> None:
        ToyModel.__init__(self)
        self._failure = failure

    def answers(self, *given: Any, **named: Any) -> list[Written]:
        if self._failure:
            raise self._failure
        return self._by_toy(*given, **named)

    def _by_toy(self, shared: Sequence[int], prompts: Sequence[Prompt], most: int, **_: Any) -> list[Written]:
        wishes = [tuple(self._wish(prompt)) for prompt in prompts]
        return [Written(self.decode(own[:most]), own[:most], len(own) < most) for own in wishes]


def prompts_of(model: VotingModel, *texts: str) -> list[Prompt]:
    return [Prompt(tuple(model.encode(text)), 0) for text in texts]


def batch(model: VotingModel, *texts: tuple[str, ...]) -> VoterBatch:
    return VoterBatch(model, "colour ?", Private(texts, REPLACE_ONE), max_tokens=4)


def test_number_of_steps_is_public() -> None:
    steps = []
    for text in ("say: a .", "say: a b c d e ."):
        model = Counting()
        write_answers(model, (), prompts_of(model, text), 4)
        steps.append(model.steps)
    assert steps == [3, 3]
    model = Counting()
    write_answers(model, (), prompts_of(model, "say: a ."), 4, all_steps=False)
    assert model.steps == 1


@pytest.mark.parametrize("failure", [EngineFailed("The server is gone."), UsageError(SECRET), ValueError(SECRET)])
def test_failure_of_an_engine_shows_no_prompt(failure: Exception) -> None:
    """The error of an engine of this package is passed on; that of a plug-in may hold words of a document."""
    voters = batch(Engine(failure), (SECRET,), ())
    with pytest.raises(DiscreetError) as caught:
        voters.answers()
    shown = "".join(traceback.format_exception(caught.value))
    assert "Ada" not in shown
    assert isinstance(failure, EngineFailed) != isinstance(caught.value, PrivateValueError)
    assert caught.value.__context__ is None
    frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert frames == ["test_failure_of_an_engine_shows_no_prompt", "answers", "grounded"]
