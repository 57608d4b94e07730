"""The suite of ledgers catches broken ledgers."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.filter import Charge, MemoryLedger, UnitLedger
from tests.guarantee.ledger.suite import LedgerSuite
from tests.testing.harness import failing, fails


class ChargesAgain(MemoryLedger):
    """Records a charge again when the same question asks again."""

    def charge(self, charge: Charge) -> bool:
        self.charges.pop((charge.question, charge.number), None)
        return super().charge(charge)


class PaysByRank(MemoryLedger):
    """Charges only the first two units that can pay."""

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        return super().reserve(question, part, most, sorted(set(units))[:2])


class ReturnsTwice(MemoryLedger):
    """Returns the unspent reserve at each settlement."""

    def settle(
        self, question: str, part: int, spent: Spending, charges: Sequence[Charge] = (), payers: int | None = None
    ) -> None:
        super().settle(question, part, spent, charges, payers)
        self._parts[question, part].spent = None


class ForgetsRefusals(MemoryLedger):
    """Charges all units after single units were asked to pay."""

    def charge(self, charge: Charge) -> bool:
        parts, self._parts = self._parts, {}
        try:
            return super().charge(charge)
        finally:
            self._parts = parts


class CopiesBalances(MemoryLedger):
    """Leaves a balance under the old name when two units are merged."""

    def merge(self, pairs: Sequence[tuple[bytes, bytes]]) -> int:
        for old, new in pairs:
            if old in self._units and new in self._units:
                self._units[new] = self._units[new] + self._units[old]
        return len(pairs)


class SpendsBeyond(MemoryLedger):
    """Grants a little more than the budget."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self._real = budget

    def charge(self, charge: Charge) -> bool:
        self.budget = Budget(self._real.epsilon * 1.5, self._real.delta, self._real.failures)
        try:
            return super().charge(charge)
        finally:
            self.budget = self._real


def unchanged(ledger: UnitLedger) -> UnitLedger:
    return ledger


def forgets_all(ledger: UnitLedger) -> UnitLedger:
    return MemoryLedger(ledger.budget)


def test_ledger_suite_passes_the_reference(tmp_path: Path) -> None:
    assert failing(LedgerSuite(), tmp_path, make_ledger=MemoryLedger, reopen=unchanged) == set()


@pytest.mark.parametrize(
    ("twin", "test"),
    [
        (ChargesAgain, "test_charge_is_recorded_once"),
        (PaysByRank, "test_unit_changes_nothing_for_other_units"),
        (ReturnsTwice, "test_unspent_reserve_is_returned_once"),
        (ForgetsRefusals, "test_charge_is_refused_once_units_pay"),
        (CopiesBalances, "test_merged_units_have_one_balance"),
        (SpendsBeyond, "test_any_charges_stay_within_the_budget"),
    ],
)
def test_ledger_suite_catches_broken_ledger(twin: type[MemoryLedger], test: str, tmp_path: Path) -> None:
    assert fails(LedgerSuite(), test, tmp_path, make_ledger=twin, reopen=unchanged)


@pytest.mark.parametrize("test", ["test_charges_survive_a_crash", "test_unsettled_reservation_counts_as_spent"])
def test_ledger_suite_catches_a_charge_lost_at_crash(test: str, tmp_path: Path) -> None:
    assert fails(LedgerSuite(), test, tmp_path, make_ledger=MemoryLedger, reopen=forgets_all)
