"""A number does not contradict another one that is shown with it, and says what its interval leaves out."""

import math

import pytest

from discreet.algorithms.statistics.cells import Counted
from discreet.algorithms.statistics.counts import Share
from discreet.registry import Compare, Difference, Trend


def test_difference_is_that_of_the_shown_counts() -> None:
    """The noise puts the first count below 0, where it is shown as 0."""
    asked = Difference(groups=("fever", "chills"))
    fever, chills, less = asked.conclude(Counted((-7, 5, 2), (5.0,) * 3))[1]
    assert (fever.value, chills.value, less.value) == (0, 7, -7)
    assert less.low <= less.value <= less.high


def test_difference_is_that_of_the_shown_shares() -> None:
    asked = Compare(groups=("ash", "oak"), condition="fever")
    ash, oak, less = asked.conclude(Counted((9, -4, 3, 30, 0, 0), (3.0,) * 6))[1]
    assert ash.value == 1.0
    assert less.value == pytest.approx(ash.value - oak.value)


def test_trend_says_what_chance_does() -> None:
    asked = Trend(condition="fever", since="2024-01", until="2025-12")
    text = asked.conclude(Counted((0,) * 24, (3.0,) * 24))[0]
    assert text.endswith("Of 24 periods without any, at most about 0.6 have an interval above 0 by chance.")
    one = Trend(condition="fever", by="year", since="2025", until="2025").conclude(Counted((0,), (3.0,)))[0]
    assert "by chance" not in one


def test_chance_is_the_rate_at_which_empty_periods_are_above_0() -> None:
    """Over the law of the noise, without a draw."""
    asked, deviation = Trend(condition="fever", by="year", since="2025", until="2025"), 3.0
    weights = {noise: math.exp(-(noise**2) / (2 * deviation**2)) for noise in range(-30, 31)}
    above = sum(
        weight for noise, weight in weights.items() if asked.conclude(Counted((noise,), (deviation,)))[1][0].low > 0
    )
    assert 0.01 < above / sum(weights.values()) <= 0.025


@pytest.mark.parametrize(("condition", "words"), [("numb thumbs", True), ("age >= 60", False)])
def test_share_of_a_phrase_says_that_other_words_are_not_found(condition: str, words: bool) -> None:
    """A declared field has no other words."""
    text = Share(condition=condition).conclude(Counted((40, 60), (2.0, 2.0)))[0]
    said = f'Other words for "{condition}" are not found, and the intervals do not cover them.'
    assert (said in text) == words
