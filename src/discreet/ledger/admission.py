"""The look at balances before a payment: from the rows of the payers, or from all balances in memory.

Both give the same. Rows of 100,000 payers take a third of a second, and all balances of a million units one second,
once in a process; afterwards the payers are found in milliseconds (balance_view.py).
"""

from sqlalchemy import Connection

from discreet.ledger import packed_payers, units, waiting
from discreet.ledger.balance_view import BalanceView
from discreet.ledger.encoding import KEY
from discreet.ledger.units import Balances
from discreet.privacy.accounting import Budget, FilterState

SHARE = 16
"""All balances are read for payments by at least one of so many units."""
PATIENCE = 8
"""All balances are read after a process looked so often at the waiting parts, which takes as long."""
MOST_IN_MEMORY = 2 * 10**7
"""The number of units from which balances stay in the database. Each takes 48 bytes in memory."""


class Admission:
    """Looks at balances for one process, in transactions that pay."""

    def __init__(self) -> None:
        self._view: BalanceView | None = None
        self._looks = 0

    def balances(self, connection: Connection, budget: Budget, keys: bytes) -> Balances:
        """Return the balances of units (concatenated keys), with all parts but the open one."""
        view = self._refreshed(connection, budget)
        if view is None and self._is_wanted(connection, len(keys) // KEY):
            view = self._view = BalanceView.load(connection, budget)
        if view is not None:
            return view.balances(connection, keys)
        found = units.read(connection, keys)
        if waiting.exist(connection):
            self._looks += 1
            found = waiting.added(connection, budget, found)
        return found

    def cannot_pay(self, connection: Connection, budget: Budget, common: FilterState) -> frozenset[bytes]:
        """Return all units whose balance plus `common` exceeds `budget`."""
        view = self._refreshed(connection, budget)
        if view is None:
            if not waiting.exist(connection):
                return units.cannot_pay(connection, budget, common)
            view = BalanceView.load(connection, budget)
        return view.cannot_pay(budget, common)

    def _refreshed(self, connection: Connection, budget: Budget) -> BalanceView | None:
        """Return the view after a refresh; None if there is none that can be used."""
        if self._view is not None and not self._view.refresh(connection, budget):
            self._view = None
        return self._view

    def _is_wanted(self, connection: Connection, payers: int) -> bool:
        """Return whether all balances are worth to be read for so many payers."""
        if payers < packed_payers.LEAST and self._looks < PATIENCE:
            return False
        known = units.last_number(connection)
        return known <= MOST_IN_MEMORY and (payers * SHARE >= known or self._looks >= PATIENCE)
