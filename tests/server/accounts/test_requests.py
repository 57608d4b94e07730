"""Requests for more budget."""

import pytest

from discreet.errors import BudgetExhausted, UsageError
from tests.server.accounts.helpers import Bank


def test_request_beyond_the_grant_stays_pending(bank: Bank) -> None:
    key, _ = bank.key(10.0, reserved=True), bank.key(10.0, reserved=True)
    made = bank.accounts.request(key.id, 1.0, "please")
    with pytest.raises(BudgetExhausted):
        bank.accounts.approve(made.id)
    assert bank.accounts.requests() == [made]
    assert bank.accounts.get(key.id).epsilon == 10.0


@pytest.mark.parametrize(("epsilon", "reason"), [(0, "x"), (-1, "x"), (float("nan"), "x"), (1, " "), (1, "x" * 501)])
def test_requests_out_of_range_are_refused(bank: Bank, epsilon: float, reason: str) -> None:
    key = bank.key()
    with pytest.raises(UsageError):
        bank.accounts.request(key.id, epsilon, reason)


def test_few_requests_of_a_key_are_pending(bank: Bank) -> None:
    key = bank.key()
    for _ in range(5):
        bank.accounts.request(key.id, 1.0, "please")
    with pytest.raises(UsageError, match="pending"):
        bank.accounts.request(key.id, 1.0, "please")
