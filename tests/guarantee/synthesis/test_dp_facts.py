"""DP-Facts: what one unit can change, and what it costs."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget, Spending, compose
from discreet.privacy.filter import MemoryLedger, PrivacyFilter
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.privacy.private import Private
from discreet.store.embedding import open_embedder
from discreet.synthesis.base import Fact, Public, SynthesisInputs, TextPiece, UnitTexts
from discreet.synthesis.dp_facts import DPFacts, FactsPlan, pairs, texts
from tests.exact import paths
from tests.guarantee.privacy.laws import Law, hockey_stick

R = TypeVar("R")
VECTOR = np.zeros(4, dtype=np.int64)
ORDER = ["zonkitis", "gloop", "rash"]
FACTS = st.lists(st.tuples(st.sampled_from(["", "diagnosis", "symptoms"]), st.sampled_from("abcdefgh")), max_size=8)
PIECES = st.lists(
    st.builds(
        lambda words, facts: TextPiece("text", VECTOR, tuple((word, 1.0) for word in words), tuple(facts)),
        st.lists(st.sampled_from([*ORDER, "other"]), unique=True),
        FACTS,
    ),
    min_size=1,
    max_size=3,
)


def piece(words: list[str], facts: list[Fact]) -> TextPiece:
    return TextPiece("text", VECTOR, tuple((word, 9.0 - place) for place, word in enumerate(words)), tuple(facts))


def all_pairs(unit: UnitTexts) -> list[str]:
    """The broken twin: whatever all texts of a unit state about any keyword."""
    return [f"{word} {fact}" for own in unit.pieces for word, _ in own.ranked for fact in own.facts]


@given(PIECES, st.integers(1, 3), st.integers(1, 3))
def test_a_unit_moves_no_more_counts_than_were_paid(pieces: list[TextPiece], most: int, overlap: int) -> None:
    unit = UnitTexts(tuple(pieces), most=4)
    brought = Counter(pairs(unit, ORDER, most, overlap))
    assert sum(count**2 for count in brought.values()) <= most * overlap  # the squared L2 sensitivity


def test_the_twin_moves_more() -> None:
    facts = [("symptoms", value) for value in "abcdef"]
    unit = UnitTexts((piece(ORDER, facts), piece(ORDER, facts)), most=4)
    assert len(pairs(unit, ORDER, 3, 1)) == 3
    assert sum(count**2 for count in Counter(all_pairs(unit)).values()) > 3


def test_facts_belong_to_the_first_keyword_in_the_common_order() -> None:
    unit = UnitTexts((piece(["rash", "gloop", "unheard"], [("diagnosis", "gloop")]),), most=4)
    assert pairs(unit, ORDER, 4, 1) == {'["gloop", "diagnosis", "gloop"]'}
    assert len(pairs(unit, ORDER, 4, 2)) == 2
    assert pairs(unit, [], 4, 1) == frozenset()


def test_texts_say_first_what_most_units_state() -> None:
    counts = {
        '["gloop", "symptoms", "rash"]': 12,
        '["gloop", "symptoms", "fever"]': 30,
        '["gloop", "diagnosis", "gloop"]': 40,
        '["rash", "", "it rains"]': 9,
    }
    found = texts(ORDER, counts)
    assert [(text.keyword, text.text) for text in found] == [
        ("gloop", "The diagnosis is gloop. The symptoms are fever, rash."),
        ("rash", "It rains."),
    ]
    assert texts(ORDER, dict(reversed(counts.items()))) == found


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 10.0])
def test_a_plan_fills_its_price(epsilon: float) -> None:
    parameters = DPFacts(epsilon=epsilon, overlap=2)
    plan = parameters.plan(Budget(40.0, 1e-5, 5e-6), Spending.nothing(), 384, 4096)
    assert plan.stated.words == 2 * parameters.facts
    spent = compose([plan.counts.cost(ADD_REMOVE_ONE), plan.stated.cost(ADD_REMOVE_ONE)])
    assert 0.97 * epsilon < spent.epsilon(1e-5) <= epsilon
    assert plan.counts.delta + plan.stated.delta <= 1e-6


@pytest.mark.parametrize(
    ("epsilon", "sigmas", "thresholds"),
    [
        (10.0, (1.940861, 1.556151), (12, 10)),
        (3.0, (5.478623, 4.392671), (30, 25)),
        (1.0, (14.855604, 11.910981), (79, 64)),
    ],
)
def test_golden_plans(epsilon: float, sigmas: tuple[float, float], thresholds: tuple[int, int]) -> None:
    plan = DPFacts(epsilon=epsilon).plan(Budget(40.0, 1e-5, 5e-6), Spending.nothing(), 384, 4096)
    assert (plan.counts.sigma, plan.stated.sigma) == pytest.approx(sigmas, abs=1e-6)
    assert (plan.counts.threshold, plan.stated.threshold) == thresholds


# -- the law of a whole corpus -------------------------------------------------------------------------------------

RAIN, HAIL, SNOW = [("", "it rains")], [("", "it hails")], [("", "it snows")]
SMALL = DPFacts(keywords=1, facts=1, tokens=8, text_tokens=16)
PLAN = SMALL.steps(4.0, 0.02, 4, 4)


class Forgetful:
    """A journal that keeps nothing."""

    def once(self, name: str, draw: Callable[[], R]) -> R:
        return draw()


def law(facts: list[list[Fact]], method: DPFacts = SMALL, plan: FactsPlan = PLAN) -> Law:
    """The exact law of the texts that come out, for units with these facts, all about one keyword."""
    units = [UnitTexts((piece(["gloop"], own),), 4, str(number)) for number, own in enumerate(facts)]
    sealed, public = Private(units, ADD_REMOVE_ONE), Public(ToyModel(["gloop"]), open_embedder("hashing"))
    budget, found = Budget(1e6, 0.99, 0.98), Law()
    for noise in paths():
        privacy = PrivacyFilter(MemoryLedger(budget), budget, "law", noise=noise)
        inputs = SynthesisInputs(plan=plan, units=sealed, public=public, privacy=privacy, checkpoint=Forgetful())
        texts = method.make(inputs)
        key = tuple(text.text for text in texts)
        found[key] = found.get(key, 0.0) + noise.probability
    return found


FEW: list[list[list[Fact]]] = [[], [RAIN], [RAIN] * 3, [RAIN, RAIN, HAIL]]
"""Who is there beside the unit that comes or goes."""


def worst(method: DPFacts = SMALL, plan: FactsPlan = PLAN, rest: list[list[list[Fact]]] = FEW) -> float:
    """By how much the laws of neighbours are farther apart than was paid for, over several epsilons."""
    spent = compose([PLAN.counts.cost(ADD_REMOVE_ONE), PLAN.stated.cost(ADD_REMOVE_ONE)])
    found = -1.0
    for others in rest:
        without = law(others, method, plan)
        for own in (RAIN, HAIL, [*RAIN, *HAIL, *SNOW]):
            with_one = law([*others, own], method, plan)
            for delta in (0.03, 0.1, 0.3):
                epsilon = spent.epsilon(delta)
                for one, other in ((with_one, without), (without, with_one)):
                    found = max(found, hockey_stick(one, other, epsilon) - delta)
    return found


def test_one_unit_changes_the_law_of_a_corpus_within_its_price() -> None:
    assert worst() <= 0


def test_twins_that_release_or_count_too_much_are_caught() -> None:
    assert worst(plan=replace(PLAN, stated=replace(PLAN.stated, delta=0.9))) > 0
    more = replace(PLAN, stated=replace(PLAN.stated, words=3, delta=0.06))
    assert worst(replace(SMALL, facts=3), more, [[[*RAIN, *HAIL, *SNOW]] * 2]) > 0


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="facts must be at least 1"):
        DPFacts(facts=0)
    with pytest.raises(UsageError, match="surprising"):
        DPFacts(first="last")  # type: ignore[arg-type]
