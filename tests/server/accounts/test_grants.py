"""Reserved shares: they fit the grant together, and keep one key out of another one's answers."""

from pathlib import Path

import pytest

from discreet.errors import BudgetExhausted, UsageError
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import BoundedRange
from discreet.privacy.filter import MemoryLedger
from discreet_server.accounts import Accounts, KeyExhausted, Limits, Reservation
from discreet_server.accounts.grants import CURVE, PURE
from tests.server.accounts.helpers import GRANT, VAULT, Bank, charge_of, gaussian, grant_of, pure


def test_shares_fit_the_grant_together(bank: Bank) -> None:
    bank.key(12.0, reserved=True)
    with pytest.raises(BudgetExhausted, match="neither reserved") as refused:
        bank.key(8.5, reserved=True)
    assert refused.value.left == pytest.approx(8.0, abs=0.01)
    bank.key(8.0, reserved=True)
    with pytest.raises(BudgetExhausted):
        bank.key(0.1, reserved=True)


def test_custodian_keeps_a_share(bank: Bank) -> None:
    bank.accounts.grant(VAULT, GRANT, kept=5.0)
    with pytest.raises(BudgetExhausted):
        bank.key(16.0, reserved=True)
    bank.key(15.0, reserved=True)
    bank.accounts.grant(VAULT, GRANT, kept=1.0)
    bank.key(4.0, reserved=True)
    with pytest.raises(UsageError, match="--keep"):
        bank.accounts.grant(VAULT, GRANT, kept=21.0)


def test_spending_of_shared_keys_is_not_reserved_again(bank: Bank) -> None:
    shared = bank.key(20.0)
    for _ in range(4):
        bank.ask(shared, pure(2.5))
    with pytest.raises(BudgetExhausted) as refused:
        bank.key(10.0, reserved=True)
    bank.key(refused.value.would_fit, reserved=True)


def test_shared_keys_stop_before_a_share(bank: Bank) -> None:
    bank.key(15.0, reserved=True)
    shared = [bank.key(20.0), bank.key(20.0)]
    outcomes = [bank.ask(shared[number % 2], pure(2.5)) for number in range(6)]
    refused = [one for one in outcomes if isinstance(one, KeyExhausted)]
    assert outcomes[0] not in refused
    assert {one.code for one in refused} == {"vault_budget_exhausted"}
    assert len(refused) == 5


def test_revoked_share_is_free_but_for_its_spending(bank: Bank) -> None:
    key = bank.key(20.0, reserved=True)
    bank.ask(key, pure(2.5))
    bank.accounts.revoke(key.id)
    with pytest.raises(BudgetExhausted) as refused:
        bank.key(20.0, reserved=True)
    bank.key(refused.value.would_fit, reserved=True)


def test_share_is_never_below_what_its_key_has_spent(bank: Bank) -> None:
    key = bank.key(10.0, reserved=True)
    for _ in range(2):
        assert isinstance(bank.ask(key, pure(2.5)), Reservation)
    bank.accounts.extend(key.id, Limits(epsilon=1.0))
    with pytest.raises(BudgetExhausted) as refused:
        bank.key(19.0, reserved=True)
    bank.key(refused.value.would_fit, reserved=True)


@pytest.mark.parametrize(
    ("grant", "typical", "reading"),
    [
        (Budget(20.0, 1e-5, 5e-6), charge_of(BoundedRange(2.5)).spending, CURVE),
        (Budget(20.0, 1e-5, 5e-6), pure(2.5).spending, PURE),
        (Budget(20.0, 1e-5, 5e-6), None, CURVE),
        (Budget(3.0, 1e-5, 5e-6), pure(1.0).spending, PURE),
        (Budget(20.0, 1e-5, 1e-5), None, PURE),
        (Budget(20.0, 1e-5, 0.0, accountant="pure"), None, PURE),
    ],
)
def test_reading_pays_for_more(tmp_path: Path, grant: Budget, typical: Spending | None, reading: str) -> None:
    accounts = Accounts(tmp_path / "accounts.sqlite")
    accounts.grant("clinic", grant)
    accounts.issue("ana", ["clinic"], Limits(1.0), reserved=True, typical=typical)
    assert grant_of(accounts, "clinic").reading == reading


def test_zcdp_grant_has_no_shares(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path / "accounts.sqlite")
    accounts.grant("clinic", Budget(20.0, 1e-5, 0.0, accountant="zcdp"))
    with pytest.raises(UsageError, match="zCDP"):
        accounts.issue("ana", ["clinic"], Limits(1.0), reserved=True)


@pytest.mark.parametrize("charge", [pure(1.3, 1e-8), gaussian(0.1)], ids=["pure", "gaussian"])
def test_no_unit_is_missing_because_of_another_key(bank: Bank, charge: object) -> None:
    """All keys but one spend all they can on the same unit; the last one then spends its share, and the unit pays."""
    ledger, unit = MemoryLedger(GRANT), [b"unit"]
    patient = bank.key(7.0, reserved=True)
    greedy = [bank.key(6.0, reserved=True), bank.key(4.0, reserved=True), bank.key(20.0), bank.key(20.0)]
    for key in greedy:
        while isinstance(bank.ask(key, charge), Reservation):  # type: ignore[arg-type]
            ledger.reserve(bank.last, 0, charge.spending, unit)  # type: ignore[attr-defined]
    admitted = 0
    while isinstance(bank.ask(patient, charge), Reservation):  # type: ignore[arg-type]
        assert ledger.reserve(bank.last, 0, charge.spending, unit) == {b"unit"}  # type: ignore[attr-defined]
        admitted += 1
    assert admitted >= 2
