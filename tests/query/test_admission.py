"""What a vault can pay for, and what it says when it cannot."""

import pytest

from discreet.algorithms.base import ANY_VOCABULARY
from discreet.errors import BudgetExhausted, UsageError
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import BoundedRange
from discreet.query.admission import question_budget
from discreet.registry import ALGORITHMS, Consensus, DPSparseVoteRAG, MuRAGAda, make_algorithm

BUDGET = Budget(10.0, 1e-5, 0.5e-5)


def test_a_question_that_fits_has_a_budget_of_its_own() -> None:
    for algorithm in (Consensus(), Consensus(epsilon=10), DPSparseVoteRAG(epsilon=9), MuRAGAda(), MuRAGAda(uses=2)):
        assert question_budget(algorithm, BUDGET, Spending.nothing(), 1000).epsilon <= 10
    # A vault whose grant is the price of one question can be asked it.
    question_budget(Consensus(), Budget(2.0, 1e-5, 0.5e-5), Spending.nothing(), 1000)
    question_budget(MuRAGAda(), Budget(2.5, 1e-5, 0.5e-5), Spending.nothing(), 1000)


def test_what_would_fit_does() -> None:
    spent = Spending.of(BoundedRange(8.5, 1e-7))
    with pytest.raises(BudgetExhausted) as refused:
        question_budget(Consensus(epsilon=3), BUDGET, spent, 1000)
    assert 1 < refused.value.would_fit < 2
    question_budget(Consensus(epsilon=refused.value.would_fit), BUDGET, spent, 1000)


def test_nothing_is_said_to_fit_that_could_release_nothing() -> None:
    spent = Spending.of(BoundedRange(9.9, 1e-7))
    with pytest.raises(BudgetExhausted, match="No question of this kind fits") as refused:
        question_budget(Consensus(epsilon=3), BUDGET, spent, 1000)
    assert refused.value.would_fit == 0
    with pytest.raises(UsageError, match="It takes epsilon"):
        question_budget(Consensus(epsilon=0.1), BUDGET, spent, 1000)


def test_a_delta_that_is_used_up_is_named() -> None:
    spent = Spending.of(BoundedRange(0.1, 4.9e-6))
    with pytest.raises(BudgetExhausted, match="--delta") as refused:
        question_budget(Consensus(delta=1e-6), BUDGET, spent, 1000)
    assert refused.value.asked == pytest.approx(1.0, rel=0.01)
    assert refused.value.left == pytest.approx(9.9, rel=0.01)
    question_budget(Consensus(choices=("yes", "no")), BUDGET, spent, 1000)


def test_a_price_does_not_depend_on_the_models_vocabulary() -> None:
    for name in ALGORITHMS:
        needed = {"condition": "fever", "groups": ("rash", "chills"), "attribute": "age", "values": ("old", "young")}
        algorithm = make_algorithm(name, needed, strict=False)
        for changed in (algorithm, make_algorithm(name, needed | {"epsilon": 3.0}, strict=False)):
            assert changed.plan(BUDGET, ANY_VOCABULARY) == changed.plan(BUDGET, 150_000)
