"""DP-Facts: what one unit can change, and what it costs."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.dp_facts import DPFacts, pairs, texts
from discreet.algorithms.synthetic import Fact, TextPiece, UnitTexts
from discreet.errors import UsageError
from discreet.privacy.accounting import Budget, Spending, compose
from discreet.privacy.individual import PRESENCE

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
    spent = compose([plan.counts.cost(PRESENCE), plan.stated.cost(PRESENCE)])
    assert 0.97 * epsilon < spent.epsilon(1e-5) <= epsilon
    assert plan.counts.delta + plan.stated.delta <= 1e-6


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="facts must be at least 1"):
        DPFacts(facts=0)
    with pytest.raises(UsageError, match="surprising"):
        DPFacts(first="last")  # type: ignore[arg-type]
