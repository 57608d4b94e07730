"""Optimal selection: its curves in whole numbers, its exact law over all neighbouring inputs, and its cost."""

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import pytest

from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms.optimal_selection import (
    OptimalSelection,
    candidate_curve,
    least_votes,
    read_curve,
    unseen_curve,
)
from discreet.privacy.noise import WHOLE
from discreet.privacy.private import Change, Relation
from discreet_lab.audit.vote_mutants import BrokenCandidates, BrokenMost, BrokenSelectionRelation
from tests.exact import paths
from tests.guarantee.privacy.laws import ADD_REMOVE, REPLACE, Law, hockey_stick, neighbours

CHANGES = (REPLACE, ADD_REMOVE)
EPSILONS = (0.05, 0.5, 1.0, 2.0, 5.0)
DELTAS = (1e-12, 1e-6, 1e-3, 0.2)


def exact_power(epsilon: float) -> Fraction:
    """e^epsilon to 80 digits, as a lower bound."""
    with localcontext() as context:
        context.prec = 90
        value = Decimal(epsilon).exp()
        return Fraction(value) * (1 - Fraction(1, 10**80))


# -- the curves ------------------------------------------------------------------------------------------------------


def test_unseen_curve_has_the_golden_values() -> None:
    curve = unseen_curve(1.0, 1e-6)
    golden = {1: 1e-6, 6: 2.34e-4, 10: 0.012818, 12: 0.094719, 14: 0.699887, 16: 0.959385, 20: 0.999257}
    for votes, probability in golden.items():
        assert curve[votes] / WHOLE == pytest.approx(probability, rel=1e-3, abs=5e-7)
    assert curve[0] == 0
    assert curve[-1] == WHOLE


@pytest.mark.parametrize(
    ("epsilon", "votes"),
    [
        (0.25, (48, 54, 64)),
        (0.5, (26, 29, 34)),
        (1, (14, 16, 18)),
        (2, (8, 9, 10)),
        (3, (6, 6, 7)),
        (5, (4, 4, 4)),
    ],
)
def test_votes_needed_are_those_of_the_specification(epsilon: float, votes: tuple[int, ...]) -> None:
    made = OptimalSelection[str](epsilon, 1e-6)
    assert tuple(made.votes_needed(probability) for probability in (0.5, 0.9, 0.99)) == votes


@pytest.mark.parametrize(
    ("epsilon", "prior", "votes"),
    [(0.5, 0.01, (8, 12)), (1, 0.01, (4, 6)), (1, 0.001, (7, 8)), (2, 0.01, (2, 3)), (2, 0.001, (4, 4))],
)
def test_candidates_need_the_votes_of_the_specification(epsilon: float, prior: float, votes: tuple[int, ...]) -> None:
    curve = candidate_curve(epsilon, prior)
    assert tuple(least_votes(curve, probability) for probability in (0.5, 0.9)) == votes


def test_unseen_answers_beside_candidates_need_no_more_votes() -> None:
    """Part 10.5 names 15/16 at epsilon 1: that is at half of the delta, as the leader rule has it."""
    made = OptimalSelection.calibrated(1.0, 1e-6, ADD_REMOVE, ("a", "b"))
    assert (made.votes_needed(0.5), made.votes_needed(0.9)) == (14, 16)
    half = OptimalSelection[str](1.0, 5e-7)
    assert (half.votes_needed(0.5), half.votes_needed(0.9)) == (15, 16)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_unseen_curve_is_private_in_exact_arithmetic(epsilon: float, delta: float) -> None:
    growth, extra = exact_power(epsilon), Fraction(delta) * WHOLE
    curve = unseen_curve(epsilon, delta)
    for fewer, more in pairwise(curve):
        assert fewer <= more <= growth * fewer + extra
        assert WHOLE - fewer <= growth * (WHOLE - more) + extra
    assert curve[-1] == WHOLE


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("prior", [1e-9, 0.001, 0.02, 0.5])
def test_candidate_curve_is_pure_in_exact_arithmetic(epsilon: float, prior: float) -> None:
    growth = exact_power(epsilon)
    curve = candidate_curve(epsilon, prior)
    for fewer, more in pairwise(curve):
        assert 0 < fewer <= more < WHOLE
        assert more <= growth * fewer
        assert WHOLE - fewer <= growth * (WHOLE - more)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_unseen_curve_is_rounded_towards_nothing_and_hardly(epsilon: float, delta: float) -> None:
    growth, extra = exact_power(epsilon), Fraction(delta)
    ideal = Fraction(0)
    for weight in unseen_curve(epsilon, delta)[:60]:
        assert Fraction(weight, WHOLE) <= ideal
        assert ideal - Fraction(weight, WHOLE) <= Fraction(1, 10**6) * ideal
        ideal = min(growth * ideal + extra, 1 - (1 - ideal - extra) / growth, Fraction(1))
        ideal = Fraction(math.ceil(ideal * 10**60), 10**60)


def test_no_curve_of_the_same_price_is_higher() -> None:
    """Each entry is the largest whole number that both inequalities allow, given the one before."""
    growth, extra = exact_power(1.0), Fraction(1e-3) * WHOLE
    curve = unseen_curve(1.0, 1e-3)
    for fewer, more in pairwise(curve):
        higher = more + 2  # one is what rounding may take
        assert higher > WHOLE or higher > growth * fewer + extra or WHOLE - fewer > growth * (WHOLE - higher) + extra


def test_curves_refuse_what_they_are_not_made_for() -> None:
    for epsilon in (0.0, -1.0, 100.0, math.nan):
        with pytest.raises(ValueError, match="Epsilon"):
            unseen_curve(epsilon, 1e-6)
    with pytest.raises(ValueError, match="Delta"):
        unseen_curve(1.0, 1.0)
    for prior in (0.0, 0.6, 2.0**-40):
        with pytest.raises(ValueError, match="prior"):
            candidate_curve(1.0, prior)


def test_without_delta_only_candidates_are_released() -> None:
    made = OptimalSelection(1.0, 0.0, ("a",), 0.02)
    assert made.chance(10**6) == 0.0
    assert made.votes_needed(0.5) is None
    assert made.candidate_chance(10) > 0.9
    assert made.cost(ADD_REMOVE) == Pure(1.0, 0.0)


# -- the law, over all neighbouring inputs ---------------------------------------------------------------------------


def law_of(mechanism: OptimalSelection[int], votes: tuple[int, ...]) -> Law:
    """The law of the released set, from the curves alone."""
    counts = Counter(votes)
    unseen = unseen_curve(mechanism.epsilon, mechanism.delta)
    known = candidate_curve(mechanism.epsilon, mechanism.prior)
    answers = sorted({*counts, *mechanism.candidates})
    chances = [read_curve(known if a in mechanism.candidates else unseen, counts[a]) / WHOLE for a in answers]
    law: Law = {}
    for released in product((False, True), repeat=len(answers)):
        outcome = tuple(answer for answer, out in zip(answers, released, strict=True) if out)
        law[outcome] = math.prod(c if out else 1 - c for c, out in zip(chances, released, strict=True))
    return law


def drawn_law(mechanism: OptimalSelection[int], votes: tuple[int, ...]) -> Law:
    """The law of `draw`, by all ways in which its coins can fall."""
    law: Law = {}
    for noise in paths():
        outcome = mechanism.draw(votes, noise)
        law[outcome] = law.get(outcome, 0.0) + noise.probability
    return law


@pytest.mark.parametrize("candidates", [(), (0,), (0, 5)], ids=str)
@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_all_neighbours_stay_within_the_cost(epsilon: float, change: Change, candidates: tuple[int, ...]) -> None:
    mechanism = OptimalSelection.calibrated(epsilon, 0.01, change, candidates)
    cost = mechanism.cost(change)
    assert isinstance(cost, Pure)
    assert (cost.epsilon, cost.delta) == pytest.approx((epsilon, 0.01))
    sticks = []
    for first, second in neighbours(3, 7, change.relation):
        p, q = law_of(mechanism, first), law_of(mechanism, second)
        sticks.append(hockey_stick(p, q, cost.epsilon))
    assert max(sticks) <= cost.delta * (1 + 1e-9)
    if change == ADD_REMOVE:
        assert max(sticks) >= 0.99 * cost.delta


@pytest.mark.parametrize("candidates", [(), (0, 5)], ids=str)
def test_draws_follow_the_curves(candidates: tuple[int, ...]) -> None:
    mechanism = OptimalSelection.calibrated(1.0, 0.05, ADD_REMOVE, candidates)
    for size in range(6):
        for votes in combinations_with_replacement(range(3), size):
            expected, found = law_of(mechanism, votes), drawn_law(mechanism, votes)
            assert sum(found.values()) == pytest.approx(1.0)
            for outcome in {*expected, *found}:
                assert found.get(outcome, 0.0) == pytest.approx(expected.get(outcome, 0.0), abs=1e-12)


def test_an_abstention_is_no_vote() -> None:
    mechanism = OptimalSelection[int](1.0, 0.3)
    for noise in paths():
        assert set(mechanism.draw((None, 1, None, 1), noise)) <= {1}


def test_a_replaced_vote_costs_twice_as_much() -> None:
    made = OptimalSelection[str](1.0, 1e-6)
    assert made.cost(REPLACE) == Pure(2.0, 2e-6)
    assert OptimalSelection.calibrated(1.0, 1e-6, REPLACE).cost(REPLACE) == Pure(1.0, 1e-6)
    for relation in Relation:
        with pytest.raises(NotImplementedError):
            made.cost(Change(2, relation))


def test_a_replaced_vote_can_cost_nearly_all_of_that() -> None:
    made = OptimalSelection[int](1.0, 0.01)
    losses = []
    for first, second in neighbours(2, 9, Relation.REPLACE):
        p, q = law_of(made, first), law_of(made, second)
        losses.append(hockey_stick(p, q, 1.9))
    assert max(losses) > 0.01


# -- mutants ---------------------------------------------------------------------------------------------------------


def test_candidates_that_the_voters_name_are_caught() -> None:
    mechanism = BrokenCandidates(1.0, 0.01, prior=0.02)
    law: dict[tuple[str, ...], float] = {}
    for noise in paths():
        outcome = mechanism.draw(("y",), noise)
        law[outcome] = law.get(outcome, 0.0) + noise.probability
    assert law["y",] > mechanism.cost(ADD_REMOVE).delta  # without that unit it is never released


def test_the_most_common_by_sealed_counts_is_caught() -> None:
    mechanism = BrokenMost(1.0, 0.01)
    high = mechanism.votes_needed(1.0)
    assert high is not None
    first, second = ("a",) * high + ("b",) * high, ("a",) * high + ("b",) * (high + 1)
    outcomes = [{mechanism.draw(votes, noise) for noise in paths()} for votes in (first, second)]
    assert outcomes == [{("a",)}, {("b",)}]


def test_the_price_of_adding_on_replaced_votes_is_caught() -> None:
    cost = BrokenSelectionRelation(1.0, 0.01).cost(REPLACE)
    made = OptimalSelection[int](1.0, 0.01)
    sticks = [
        hockey_stick(law_of(made, first), law_of(made, second), float(cost.curve[-1]))
        for first, second in neighbours(2, 8, Relation.REPLACE)
    ]
    assert max(sticks) > 10 * cost.delta
