"""What Theorem 1 on random projection claims: golden vectors, its domain, and that no budget takes it."""

import math

import numpy as np
import pytest

from discreet.errors import BudgetExhausted, UsageError
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import ORDERS, Claimed, Cost, Pure
from discreet.privacy.filter import MemoryLedger, NotPrivateFilter, PrivacyFilter
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change, Private
from discreet_lab.claims import (
    CAVEAT,
    ProjectionClaim,
    RenyiBound,
    best_order,
    narrowest_ratio,
    row_divergence,
)
from tests.guarantee.privacy.laws import ADD_REMOVE


@pytest.mark.parametrize(("ratio", "claimed"), [(1 / 4, 42.953812), (1 / 2, 20.903315), (1.01, 0.958985)])
def test_golden_divergences(ratio: float, claimed: float) -> None:
    assert row_divergence(64, ratio, 99) == pytest.approx(claimed, abs=5e-7)


def test_golden_norms_that_the_papers_epsilon_takes() -> None:
    lowest = narrowest_ratio(64, 99, 5.051)
    assert lowest == pytest.approx(0.829292, abs=5e-7)
    assert math.sqrt(lowest) > 0.91  # lengths equal within 9 %


def test_the_formula_is_the_divergence_of_two_gaussians() -> None:
    """Integrated, for one coordinate: variances Gamma and 1."""
    x = np.linspace(-60, 60, 400_001)
    for ratio, alpha in ((0.25, 3.0), (0.5, 20.0), (1.2, 2.5), (4.0, 1.2)):
        log_p, log_q = (-(x**2) / (2 * v) - math.log(2 * math.pi * v) / 2 for v in (ratio, 1.0))
        moment = np.sum(np.exp(alpha * log_p + (1 - alpha) * log_q)) * (x[1] - x[0])
        assert row_divergence(1, ratio, alpha) == pytest.approx(math.log(moment) / (alpha - 1), rel=1e-6)


def test_at_the_papers_own_parameters_the_formula_has_no_value() -> None:
    claim = ProjectionClaim()
    assert (1 - claim.alpha) * claim.widest + claim.alpha == -293
    assert claim.epsilon == math.inf
    assert claim.highest_order == pytest.approx(4 / 3)
    assert ProjectionClaim(alpha=1.3333).epsilon < math.inf
    assert ProjectionClaim(alpha=4 / 3 + 1e-9).epsilon == math.inf


def test_no_order_claims_what_the_paper_says() -> None:
    best = best_order(64, 1, 2, 1e-5)
    assert best.alpha < 4 / 3
    assert best.converted(1e-5) == pytest.approx(best.epsilon + math.log(1e5) / (best.alpha - 1))
    assert best.converted(1e-5) > 100


def test_a_claim_is_worst_at_its_ends() -> None:
    claim = ProjectionClaim(k=8, gamma=1, delta=1.1, alpha=4)
    ratios = np.linspace(1 / claim.widest, claim.widest, 101)
    assert max(row_divergence(8, float(ratio), 4) for ratio in ratios) == pytest.approx(claim.epsilon)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"gamma": 0.0},
        {"gamma": -1.0},
        {"gamma": 2.0},
        {"gamma": 3.0},
        {"delta": math.inf},
        {"delta": math.nan},
        {"alpha": 1.0},
        {"alpha": 0.5},
        {"alpha": math.inf},
        {"alpha": math.nan},
    ],
)
def test_parameters_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="paper takes"):
        ProjectionClaim(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(UsageError, match="probability"):
        ProjectionClaim(alpha=1.2).converted(delta)


class Published:
    """Opens everything, and claims to cost next to nothing."""

    def cost(self, change: Change) -> Cost:
        return Claimed(Pure(0.001), "it was never shown.")

    def draw(self, shares: object, noise: Noise) -> object:
        return shares


def test_every_budget_refuses_a_claim_however_small() -> None:
    cost = Published().cost(ADD_REMOVE)
    assert not Budget(1e6, 0.9).admits(Spending.of(cost))
    privacy = PrivacyFilter(MemoryLedger(Budget(1e6, 0.9)), Budget(1e6, 0.9), "q")
    with pytest.raises(BudgetExhausted):
        privacy.release(Published(), Private(["a"], ADD_REMOVE))


def test_a_receipt_prints_the_caveat_and_no_epsilon() -> None:
    privacy = NotPrivateFilter(MemoryLedger(Budget(1, 0.1)), Budget(1, 0.1), "q")
    for _ in range(2):
        privacy.release(Published(), Private(["a"], ADD_REMOVE))
    receipt = privacy.receipt().describe()
    assert receipt["private"] is False
    assert receipt["epsilon"] is None
    assert receipt["caveat"] == "it was never shown."  # once
    cost = receipt["charges"][0]["cost"]
    assert cost["kind"] == "claim"
    assert "epsilon" not in cost
    assert "not a differential privacy guarantee" in CAVEAT


def test_a_bound_at_one_order_says_nothing_of_higher_ones() -> None:
    curve = RenyiBound(2.0, 0.5).curve
    assert set(curve[ORDERS <= 2]) == {0.5}
    assert np.isinf(curve[ORDERS > 2]).all()
    assert ProjectionClaim(alpha=1.2).cost().cost.delta == 0
