"""Grants that no vault is made with."""

import pytest

from discreet.errors import UsageError
from discreet.planning.checks import check_grant, smallest_grant
from discreet.planning.prices import FAILURE_SHARE, usual_algorithm
from discreet.vault import Vault


@pytest.mark.parametrize(
    ("epsilon", "delta", "people", "says"),
    [
        (8, 1e-3, 0, "--delta 1e-06"),
        (8, 1e-4, 10_000, "1/10000"),
        (8, 0.5, 1, "guarantee fails"),
        (0.4, 1e-6, 0, "--epsilon 0.54"),
        (8, 1e-300, 0, "no epsilon pays"),
        (20.1, 1e-6, 0, "536,000,000 to 1"),
        (1000, 1e-6, 0, "434 to 1. Give at most --epsilon 20"),
    ],
)
def test_bad_grant_is_refused_unless_forced(epsilon: float, delta: float, people: int, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        check_grant(epsilon, delta, people=people)
    check_grant(epsilon, delta, people=people, force=True)


@pytest.mark.parametrize("wrong", [(0, 1e-6), (float("inf"), 1e-6), (8, 0), (8, 1), (8, float("nan"))])
def test_what_is_no_grant_is_refused_also_by_force(wrong: tuple[float, float]) -> None:
    with pytest.raises(UsageError):
        check_grant(*wrong, force=True)


@pytest.mark.parametrize("payment", ["unit", "corpus"])
def test_smallest_grant_is_one_and_a_smaller_is_none(payment: str) -> None:
    least = smallest_grant(1e-6, payment)
    check_grant(least, 1e-6, payment=payment)
    with pytest.raises(UsageError):
        check_grant(least * 0.98, 1e-6, payment=payment)


def test_what_is_planned_is_what_a_vault_does(vault: Vault) -> None:
    assert vault.default_algorithm() == usual_algorithm("unit")
    assert vault.ledger.budget.failures == FAILURE_SHARE * vault.ledger.budget.delta
