"""What a release of votes costs: the tables of the specification, and the choice between two releases."""

import pytest

from discreet.algorithms.consensus_release import least_epsilon, supporters
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.mechanisms.counting import ThresholdedCounts
from discreet.privacy.mechanisms.optimal_selection import CountedSelection, OptimalSelection
from discreet.privacy.partition import ADD_REMOVE_ONE
from tests.guarantee.privacy.vote_releases import cheapest_release, counted_selection_for, thresholded_counts_for


@pytest.mark.parametrize(("units", "epsilon"), [(22, 1.25), (40, 0.64), (80, 0.30), (160, 0.14), (524, 0.04)], ids=str)
def test_price_by_support_is_that_of_the_specification(units: int, epsilon: float) -> None:
    assert least_epsilon(units, 1e-6, 0.6, 0.95) == pytest.approx(epsilon, abs=0.0061)


def test_price_by_support_is_the_least_that_is_enough() -> None:
    for units in (5, 22, 160, 5000):
        price = least_epsilon(units, 1e-6)
        votes = supporters(units, 0.6)
        assert OptimalSelection[str](price, 1e-6).chance(votes) >= 0.9
        assert OptimalSelection[str](price * (1 - 1e-6), 1e-6).chance(votes) < 0.9


def test_price_falls_with_the_number_of_units() -> None:
    prices = [least_epsilon(units, 1e-6) for units in (5, 10, 20, 40, 80, 160, 320)]
    assert prices == sorted(prices, reverse=True)


def test_price_is_refused_where_no_epsilon_is_enough() -> None:
    with pytest.raises(ValueError, match="At least 2 votes"):
        least_epsilon(2, 1e-6)
    for units, share in ((-1, 0.5), (10, 0.0), (10, 1.1)):
        with pytest.raises(ValueError, match="share"):
            supporters(units, share)


def test_supporters_are_rounded_down_but_not_by_floating_point() -> None:
    assert [supporters(units, 0.6) for units in (22, 40, 5)] == [13, 24, 3]
    assert supporters(10, 0.3) == 3


VOTES = [
    (2, 1, (7, 8), (12, 15)),
    (5, 1, (4, 4), (6, 7)),
    (5, 5, (14, 16), (12, 15)),
    (10, 2, (4, 4), (5, 6)),
    (10, 5, (8, 9), (8, 10)),
    (10, 10, (15, 16), (10, 12)),
    (10, 20, (29, 32), (14, 17)),
    (20, 20, (16, 17), (9, 11)),
]
"""Of a budget of epsilon and a number of questions a unit: votes for 0.5 and 0.9, by selection and by counts.

Part 10.3 has 11/14, 7/9 and 8/10 for the counts of the first, fifth and last row: with its continuous threshold, whose
failures exceed delta_t with whole noise (`test_continuous_threshold_fails_too_often_with_whole_noise`).
"""


@pytest.mark.parametrize(("epsilon", "uses", "selected", "counted"), VOTES)
def test_votes_needed_in_streams(
    epsilon: float, uses: int, selected: tuple[int, int], counted: tuple[int, int]
) -> None:
    budget = Budget(epsilon, 1e-5, 5e-6)
    selection, counts = counted_selection_for(budget, uses), thresholded_counts_for(budget, uses)
    assert selection is not None
    assert counts is not None
    assert (selection.votes_needed(0.5), selection.votes_needed(0.9)) == selected
    assert (counts.votes_needed(0.5), counts.votes_needed(0.9)) == counted
    chosen = cheapest_release(budget, uses)
    assert chosen.votes == min(selected[1], counted[1])
    assert isinstance(chosen.mechanism, CountedSelection if selected[1] < counted[1] else ThresholdedCounts)
    for mechanism in (selection, counts):
        assert budget.admits(Spending.of(mechanism.cost(ADD_REMOVE_ONE), uses))


def test_a_budget_without_failures_admits_neither_release() -> None:
    with pytest.raises(ValueError, match="failures 0"):
        cheapest_release(Budget(1.0, 1e-5), 1)


def test_a_pure_budget_admits_selection_alone() -> None:
    budget = Budget(2.0, 1e-6, 1e-6, accountant="pure")
    assert thresholded_counts_for(budget, 2) is None
    chosen = cheapest_release(budget, 2)
    assert isinstance(chosen.mechanism, CountedSelection)
    assert chosen.mechanism.epsilon == pytest.approx(1.0)
