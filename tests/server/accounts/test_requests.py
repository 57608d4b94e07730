"""Requests for more budget."""

import pytest

from discreet.errors import BudgetExhausted, UnknownName, UsageError
from tests.server.accounts.helpers import Bank


def test_approved_request_raises_the_cap_once(bank: Bank) -> None:
    key = bank.key(10.0)
    made = bank.accounts.request(key.id, 2.5, "One question  more,\nplease\x07.")
    assert made.reason == "One question more, please ."
    assert [one.id for one in bank.accounts.requests()] == [made.id]
    decided, changed = bank.accounts.approve(made.id)
    assert (decided.state, changed.epsilon) == ("approved", 12.5)
    with pytest.raises(UsageError, match="approved before"):
        bank.accounts.approve(made.id)
    with pytest.raises(UsageError, match="approved before"):
        bank.accounts.deny(made.id)
    assert bank.accounts.get(key.id).epsilon == 12.5
    assert bank.accounts.requests() == []


def test_denied_request_changes_no_cap(bank: Bank) -> None:
    key = bank.key(10.0)
    assert bank.accounts.deny(bank.accounts.request(key.id, 2.5, "please").id).state == "denied"
    assert bank.accounts.get(key.id).epsilon == 10.0
    assert [one.state for one in bank.accounts.requests_of(key.id)] == ["denied"]


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


def test_unknown_request_is_named(bank: Bank) -> None:
    with pytest.raises(UnknownName, match="7"):
        bank.accounts.approve(7)
