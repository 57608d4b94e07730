"""Whole answers: by a model's own `answers` or by steps, in a public number of steps, without prompts in errors."""

import traceback
from collections.abc import Sequence
from typing import Any

import pytest

from discreet.errors import DiscreetError, EngineFailed, PrivateValueError, UsageError
from discreet.generation.answers import AnsweringModel, WholeAnswers, Written, write_answers
from discreet.generation.capabilities import Capability, capabilities
from discreet.generation.model import Prompt, VotingModel
from discreet.generation.toy import ToyDecoding, ToyModel
from discreet.generation.voters import VoterBatch
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private, unseal

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


class Stepping:
    """A voting model without `answers`, as another package may have one."""

    row_independent, name = True, "steps"

    def __init__(self) -> None:
        self._toy = ToyModel()

    def __getattr__(self, name: str) -> Any:
        if name == "answers":
            raise AttributeError(name)
        return getattr(self._toy, name)


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


def test_model_without_answers_is_asked_step_by_step() -> None:
    model = Stepping()
    assert not isinstance(model, AnsweringModel)
    found = write_answers(model, (), prompts_of(model, "say: a b ."), 3)
    assert [(one.text, one.ended) for one in found] == [(" a b", True)]


def test_voters_need_no_steps_for_whole_answers() -> None:
    model = Counting()
    voters = batch(model, (SECRET,), ())
    assert model.started == 0
    voters.answers()
    assert (model.started, model.steps) == (1, 3)
    voters.votes()
    assert model.started == 2  # the rows of the answers are gone


def test_rows_are_kept_if_votes_may_follow() -> None:
    model = Counting()
    voters = batch(model, (SECRET,), ())
    shares, public = voters.grounded(continued=True)
    assert unseal(shares, list) == [((SECRET,), " red hand"), ((), "")]
    assert public == " nothing known"
    assert unseal(voters.votes(), list) == [model.encode(word)[0] for word in ("red", "nothing")]
    assert model.started == 1


def test_engine_of_whole_answers_has_completions_only() -> None:
    assert capabilities(Engine()) == {Capability.COMPLETIONS}
    shares, public = batch(Engine(), (SECRET,), ()).grounded(continued=True)
    assert unseal(shares, list) == [((SECRET,), " red hand"), ((), "")]
    assert public == " nothing known"


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
