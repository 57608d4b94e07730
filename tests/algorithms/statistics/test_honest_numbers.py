"""A number does not contradict another one that is shown with it, and says what its interval leaves out."""

import math
from dataclasses import replace

import pytest

from discreet.privacy.accounting import Budget
from discreet.privacy.mechanisms.counting import GaussianHistogram
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import Compare, Difference, Themes, Trend
from discreet.statistics import cells as cells_module
from discreet.statistics.cells import LEVEL, Counted, Reckon
from discreet.statistics.counts import Share


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


VALUES = tuple(f"value {number}" for number in range(90))
TABLE = Themes(attribute="complaint", values=VALUES, each=3, epsilon=2.0, most=1)  # the first decides
MONTHS = Trend(condition="fever", since="2024-01", until="2025-12", uses=40)
BY_QUARTER = replace(TABLE, values=VALUES[:8], by="quarter", since="2025-01", until="2025-12", spread=3)
BUDGET, DRAWS = Budget(10.0, 1e-6, 5e-7), 200


def draws_that_name_one(asked: Themes | Trend, budget: Budget) -> int:
    """Return how many draws give some value or period an interval above 0, in a table whose true counts are all 0."""
    noise, named = InsecureSeededNoise(7), 0
    cells = asked.histogram(budget) if isinstance(asked, Trend) else asked.histograms(budget)[1]
    number = asked.cells if isinstance(asked, Trend) else asked._cells[0]
    sample = noise.gaussian if isinstance(cells, GaussianHistogram) else lambda one: noise.laplace(one / math.sqrt(2))
    for _ in range(DRAWS):
        counted = Counted.by(cells, tuple(sample(cells.deviation) for _ in range(number)))
        if isinstance(asked, Trend):
            table = asked.conclude(counted)[1]
        else:
            sizes = asked.histograms(budget)[0]
            table = asked._table(Counted.by(sizes, (300,) * len(asked._names)), counted)[1]
        named += any(one.low > 0 for one in table if not one.name.endswith("of"))
    return named


@pytest.mark.parametrize("asked", [TABLE, MONTHS, BY_QUARTER])
@pytest.mark.parametrize("budget", [BUDGET, Budget(10.0, 0.0, 0.0)])  # Gaussian and Laplace noise
def test_what_nobody_has_is_named_with_the_stated_chance(
    asked: Themes | Trend, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the twin with the threshold of a single cell names something in most tables."""
    expected = DRAWS * (1 - LEVEL)
    assert draws_that_name_one(asked, budget) <= expected + 3 * math.sqrt(expected)
    sound = cells_module.chance
    monkeypatch.setattr(cells_module, "chance", lambda deviation, gaussian, _: sound(deviation, gaussian, 1))
    assert draws_that_name_one(asked, budget) > DRAWS / 4


def test_value_that_enough_have_is_named_in_nine_of_ten_tables() -> None:
    cells, noise = TABLE.histograms(BUDGET)[1], InsecureSeededNoise(3)
    sample = noise.gaussian if isinstance(cells, GaussianHistogram) else lambda one: noise.laplace(one / math.sqrt(2))
    there = TABLE.needs(BUDGET)
    counts = [Counted.by(cells, (there + sample(cells.deviation), 0)) for _ in range(DRAWS)]
    named = sum(one.of_table("cough", "count", Reckon([0]), len(VALUES)).low > 0 for one in counts)
    assert 0.8 * DRAWS < named < DRAWS


@pytest.mark.parametrize(("condition", "words"), [("numb thumbs", True), ("age >= 60", False)])
def test_share_of_a_phrase_says_that_other_words_are_not_found(condition: str, words: bool) -> None:
    """A declared field has no other words."""
    text = Share(condition=condition).conclude(Counted((40, 60), (2.0, 2.0)))[0]
    said = f'Other words for "{condition}" are not found, and the intervals do not cover them.'
    assert (said in text) == words
