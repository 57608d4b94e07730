"""All ledgers pass the conformance suite."""

from pathlib import Path

import pytest

from discreet.ledger.ledger import PostgresLedger, SqliteLedger
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger, UnitLedger
from tests.guarantee.ledger.suite import LedgerSuite, MakeLedger, Reopen


class TestMemoryLedger(LedgerSuite):
    @pytest.fixture
    def make_ledger(self) -> MakeLedger:
        return MemoryLedger


@pytest.mark.usefixtures("sizes")
class TestSqliteLedger(LedgerSuite):
    @pytest.fixture
    def make_ledger(self, tmp_path: Path) -> MakeLedger:
        numbers = iter(range(10_000))
        return lambda budget: SqliteLedger.create(tmp_path / f"{next(numbers)}.sqlite", budget)

    @pytest.fixture
    def reopen(self) -> Reopen:
        def reopened(ledger: UnitLedger) -> UnitLedger:
            assert isinstance(ledger, SqliteLedger)
            return SqliteLedger(ledger.path)

        return reopened


@pytest.mark.usefixtures("sizes")
class TestPostgresLedger(LedgerSuite):
    @pytest.fixture
    def make_ledger(self, url: str, name: str) -> MakeLedger:
        numbers = iter(range(10_000))

        def make(budget: Budget) -> PostgresLedger:
            return PostgresLedger.create(url, f"{name}{next(numbers):x}", budget)

        return make

    @pytest.fixture
    def reopen(self, url: str) -> Reopen:
        def reopened(ledger: UnitLedger) -> UnitLedger:
            assert isinstance(ledger, PostgresLedger)
            return PostgresLedger(url, ledger.name)

        return reopened
