"""Costs, their sums, and their conversion: golden numbers, and two accountants of others as oracles."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.accounting import (
    ATTO,
    CUT,
    Accountant,
    Budget,
    FilterState,
    Spending,
    budget_for,
    compose,
    largest,
    zcdp_epsilon,
)
from discreet.privacy.costs import ORDERS, BoundedRange, Cost, NonPrivate, Pure, Together, ZeroConcentrated
from tests.later import Later

dp_accounting, loss_distribution = Later("dp_accounting"), Later("dp_accounting.pld.privacy_loss_distribution")


def at(cost: Cost, order: float) -> float:
    return float(cost.curve[int(np.argmin(np.abs(ORDERS[:-1] - order)))])


# -- golden numbers (privacy-spec, part 1) -----------------------------------------------------------------------


def test_golden_conversions() -> None:
    assert zcdp_epsilon(0.125, 1e-5) == pytest.approx(2.165716, abs=5e-7)
    assert zcdp_epsilon(1.0, 1e-6) == pytest.approx(7.766217, abs=5e-7)
    assert compose([ZeroConcentrated(0.125)]).epsilon(1e-5) == pytest.approx(2.165716, abs=1e-4)


def test_golden_curves() -> None:
    assert at(Pure(1.0), 2) == pytest.approx(0.735326, abs=5e-7)
    assert at(BoundedRange(1.0), 2) == pytest.approx(0.240229, abs=5e-7)


@pytest.mark.parametrize(
    ("epsilon_token", "epsilon", "spec"),
    [(0.5, 10, 43), (0.5, 20, 137), (1, 5, 5), (1, 10, 14), (1, 20, 37), (2, 10, 5), (2, 20, 12)],
)
def test_private_tokens_are_at_least_the_specified_number(epsilon_token: float, epsilon: float, spec: int) -> None:
    """A token is a run of the sparse vector and a selection, each of half its epsilon."""
    token = Together((Pure(epsilon_token / 2), BoundedRange(epsilon_token / 2)))
    assert budget_for(token, epsilon, 1e-5).affordable(token) >= spec


# -- curves -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.01, 0.5, 1.0, 3.0, 20.0])
def test_the_bounded_range_curve_is_the_worst_two_point_pair(epsilon: float) -> None:
    for order in (1.5, 2.0, 5.0, 32.0):
        best = 0.0
        for t in np.linspace(0, epsilon, 400)[1:-1]:
            q = (1 - math.exp(t - epsilon)) / (math.exp(t) - math.exp(t - epsilon))
            logs = [math.log(q) + order * t, math.log1p(-q) + order * (t - epsilon)]
            best = max(best, float(np.logaddexp(*logs)) / (order - 1))
        assert best <= at(BoundedRange(epsilon), order) * (1 + 1e-6) + 1e-13
        if epsilon >= 0.01:
            assert best >= 0.98 * at(BoundedRange(epsilon), order)


@given(st.floats(1e-9, 50.0))
def test_curves_grow_with_the_order_below_simple_bounds(epsilon: float) -> None:
    for cost, rho in ((Pure(epsilon), epsilon**2 / 2), (BoundedRange(epsilon), epsilon**2 / 8)):
        assert (np.diff(cost.curve) >= -1e-12).all()
        assert (cost.curve[:-1] <= ORDERS[:-1] * rho * (1 + 1e-9)).all()
        assert (cost.curve <= epsilon).all()
        assert (cost.curve > 0).all()


@given(st.floats(0.01, 10.0), st.floats(0.01, 10.0))
def test_a_larger_epsilon_costs_more_at_every_order(first: float, second: float) -> None:
    low, high = sorted((first, second))
    for kind in (Pure, BoundedRange, ZeroConcentrated):
        assert (kind(low).curve <= kind(high).curve + 1e-12).all()


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_costs_are_finite_numbers(wrong: float) -> None:
    for kind in (Pure, BoundedRange, ZeroConcentrated):
        with pytest.raises(ValueError, match="finite"):
            kind(wrong)
    with pytest.raises(ValueError, match="failure"):
        Pure(1.0, 1.0)


# -- oracles -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rho", "count"), [(0.01, 1), (0.01, 50), (0.125, 4), (0.5, 3)])
def test_zcdp_agrees_with_the_renyi_accountant(rho: float, count: int) -> None:
    oracle = dp_accounting.rdp.RdpAccountant(list(ORDERS[:-1]), dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    oracle.compose(dp_accounting.ZCDpEvent(rho), count)
    ours = Spending.of(ZeroConcentrated(rho), count).epsilon(1e-6)
    assert ours == pytest.approx(oracle.get_epsilon(1e-6), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 50), (0.5, 20), (1.0, 5), (2.0, 12)])
def test_pure_sums_lie_between_the_exact_one_and_the_plain_one(epsilon: float, count: int) -> None:
    exact = loss_distribution.from_privacy_parameters(
        loss_distribution.common.DifferentialPrivacyParameters(epsilon, 0), value_discretization_interval=1e-4
    )
    oracle = exact.self_compose(count).get_epsilon_for_delta(1e-6)
    ours = Spending.of(Pure(epsilon), count).epsilon(1e-6)
    assert oracle - 1e-6 <= ours <= min(count * epsilon + 1e-6, 1.35 * oracle)


def test_a_gaussian_agrees_with_the_renyi_accountant() -> None:
    oracle = dp_accounting.rdp.RdpAccountant(list(ORDERS[:-1]), dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    oracle.compose(dp_accounting.GaussianDpEvent(2.0), 8)
    assert compose([ZeroConcentrated(1 / 8)] * 8).epsilon(1e-5) == pytest.approx(oracle.get_epsilon(1e-5), rel=1e-6)


# -- sums -----------------------------------------------------------------------------------------------------------

costs = st.lists(
    st.one_of(
        st.builds(Pure, st.floats(0, 3), st.sampled_from([0.0, 1e-9])),
        st.builds(BoundedRange, st.floats(0, 3), st.sampled_from([0.0, 1e-8])),
        st.builds(ZeroConcentrated, st.floats(0, 1)),
    ),
    max_size=8,
)


@given(costs, st.randoms())
@settings(max_examples=30)
def test_sums_do_not_depend_on_order_and_are_rounded_up(parts: list[Cost], shuffle: object) -> None:
    total = compose(parts)
    shuffled = list(parts)
    shuffle.shuffle(shuffled)  # type: ignore[attr-defined]
    assert compose(shuffled) == total
    exact = np.sum([part.curve for part in parts], axis=0) if parts else np.zeros(len(ORDERS))
    finite = np.isfinite(exact)
    assert (total.curve[~finite] == np.inf).all()
    assert (total.curve[finite] >= exact[finite] * (1 - 1e-12)).all()
    assert (total.curve[finite] <= exact[finite] * (1 + 1e-12) + 1e-8).all()
    assert total.delta >= sum(part.delta for part in parts) * (1 - 1e-12)


@given(
    st.lists(st.one_of(st.integers(0, CUT), st.sampled_from([0, CUT, CUT - 1])), min_size=1, max_size=5),
    st.one_of(st.integers(0, 10**6), st.integers(0, 2**80), st.sampled_from([CUT, CUT + 1, 2**63])),
)
def test_multiples_are_exact_up_to_the_cap(nano: list[int], times: int) -> None:
    found = Spending(np.array(nano, dtype=np.int64), 3).times(times)
    assert found.loss_nano.dtype == np.int64
    assert found.loss_nano.tolist() == [min(value * times, CUT) for value in nano]
    assert found.failure_atto == min(3 * times, ATTO)


@given(costs, costs)
def test_more_costs_never_cost_less(parts: list[Cost], more: list[Cost]) -> None:
    budget = Budget(10.0, 1e-5, 1e-6)
    assert budget.spent(compose(parts)) <= budget.spent(compose([*parts, *more])) + 1e-12
    assert compose(parts).epsilon(1e-5) <= compose([*parts, *more]).epsilon(1e-5) + 1e-12
    assert compose(parts).epsilon(1e-5) >= compose(parts).epsilon(1e-4) - 1e-12


# -- budgets ---------------------------------------------------------------------------------------------------------


@given(costs)
def test_a_budget_is_never_below_the_best_order_in_hindsight(parts: list[Cost]) -> None:
    """The two orders fixed in advance are an upper bound of what the best order would say."""
    budget = Budget(5.0, 1e-5)
    spending = compose([part for part in parts if part.delta == 0])
    assert budget.spent(spending) >= spending.epsilon(1e-5) - 1e-9


def test_fixing_the_order_in_advance_costs_next_to_nothing() -> None:
    for epsilon in (2.0, 5.0, 10.0, 20.0):
        for token in (Pure(0.5), BoundedRange(0.5), Together((Pure(0.5), BoundedRange(0.5)))):
            best = 0
            while Spending.of(token, best + 1).epsilon(1e-5) <= epsilon:
                best += 1
            assert budget_for(token, epsilon, 1e-5).affordable(token) >= best - 1


def test_what_is_not_private_never_fits() -> None:
    assert not Budget(1e6, 1e-5).admits(Spending.of(NonPrivate()))


def test_failures_have_a_share_of_delta_that_is_fixed_in_advance() -> None:
    budget = Budget(5.0, 1e-5, 1e-6)
    assert budget.admits(Spending.of(Pure(1.0, 1e-6)))
    assert budget.spent(Spending.of(Pure(1.0, 1.01e-6))) == math.inf


@pytest.mark.parametrize(
    "wrong", [(0.0, 1e-5), (-1.0, 1e-5), (math.nan, 1e-5), (math.inf, 1e-5), (1.0, 1.0), (1.0, -1e-9)]
)
def test_budgets_are_numbers_in_range(wrong: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"not|does not hold"):
        Budget(*wrong)


def test_affordable_is_the_last_that_fits() -> None:
    budget = Budget(3.0, 1e-6)
    count = budget.affordable(Pure(0.01))
    assert budget.admits(Spending.of(Pure(0.01), count))
    assert not budget.admits(Spending.of(Pure(0.01), count + 1))
    assert budget.affordable(Pure(5.0)) == 0
    spent = Spending.of(Pure(0.01), count // 2)
    assert budget.affordable(Pure(0.01), spent) == count - count // 2


def test_largest_finds_the_edge() -> None:
    assert largest(lambda x: x <= 1.234, 0.1, 10) == pytest.approx(1.234)
    assert largest(lambda x: True, 0.1, 10) == 10
    assert largest(lambda x: x < 0, 0.1, 10) == pytest.approx(0.1)


@pytest.mark.parametrize("accountant", ["pure", "zcdp", "renyi"])
@given(
    costs=st.lists(st.sampled_from([Pure(0.1), Pure(0.7), BoundedRange(0.3), BoundedRange(1.1)]), max_size=40),
    epsilon=st.floats(0.3, 12.0),
)
def test_what_a_filter_admits_is_worth_no_more_than_its_epsilon(
    accountant: Accountant, costs: list[Cost], epsilon: float
) -> None:
    """Every filter: what it admits converts, at its order or in sum, to at most epsilon; and readings add up."""
    budget = Budget(epsilon, 1e-5, accountant=accountant)
    spent, reading = Spending.nothing(), FilterState()
    for cost in costs:
        total = reading + budget.filter_state(Spending.of(cost))
        if budget.admits_state(total):
            spent, reading = spent + Spending.of(cost), total
    assert budget.admits_state(reading)
    assert budget.spent_state(reading) <= epsilon * (1 + 1e-9)
    if accountant == "pure":
        assert spent.loss_nano[-1] <= epsilon * 1e9 * (1 + 1e-9)
    else:  # as converted at the best order, which is never above the order that the filter looks at
        assert spent.epsilon(1e-5) <= epsilon * (1 + 1e-9)


def test_filters_that_look_at_more_admit_more() -> None:
    cost = Spending.of(BoundedRange(0.2))
    admitted = [
        max(n for n in range(400) if Budget(5.0, 1e-5, accountant=kind).admits(cost.times(n)))
        for kind in ("pure", "zcdp", "renyi")
    ]
    assert admitted[0] == 25
    assert admitted[0] < admitted[1] <= admitted[2]
