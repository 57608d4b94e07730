"""The look at balances before a payment: from the rows of the payers, or from all balances in memory.

Both give the same, but for sums near a million nats. Rows of 100,000 payers take half a second, and all balances of a
million units one second, once in a process; afterwards the payers are found in milliseconds (balance_view.py).
"""

from collections import deque

from sqlalchemy import Connection

from discreet.ledger import packed_payers, units, waiting
from discreet.ledger.balance_view import BalanceView
from discreet.ledger.encoding import KEY
from discreet.ledger.units import Balances
from discreet.privacy.accounting import Budget, FilterState

SHARE = 16
"""One of so many units is a share: at the second look at a share, a process reads all balances."""
PATIENCE = 8
"""All balances are read after a process looked so often at large parts, which takes as long."""
MOST_IN_MEMORY = 5 * 10**6
"""The number of units from which balances stay in the database, since other processes wait while they are read."""


class Admission:
    """Looks at balances for one process, in transactions that pay."""

    def __init__(self) -> None:
        self._kept = deque[BalanceView](maxlen=1)
        self._looks = self._shares = 0

    def balances(self, connection: Connection, budget: Budget, keys: bytes) -> Balances:
        """Return the balances of units (concatenated keys), with all parts but the open one."""
        view = self._refreshed(connection, budget)
        if view is None and self._is_wanted(connection, len(keys) // KEY):
            view = BalanceView.load(connection, budget)
            self._kept.append(view)
            self._looks = self._shares = 0
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
            return waiting.cannot_pay(connection, budget, common)
        return view.cannot_pay(budget, common)

    def _refreshed(self, connection: Connection, budget: Budget) -> BalanceView | None:
        """Return the view after a refresh; None if there is none that can be used.

        Nothing else has it meanwhile: an interrupted refresh loses it, and so does a fork or another thread during one.
        """
        try:
            view = self._kept.pop()
        except IndexError:
            return None
        if not view.refresh(connection, budget):
            return None
        self._kept.append(view)
        return view

    def _is_wanted(self, connection: Connection, payers: int) -> bool:
        """Return whether to read all balances: at the second look at a share of the units, or after many looks."""
        if payers < packed_payers.LEAST and self._looks < PATIENCE:
            return False
        known = units.last_number(connection)
        is_share = payers >= packed_payers.LEAST and payers * SHARE >= known
        wanted = (is_share and self._shares > 0) or self._looks >= PATIENCE
        self._shares += is_share
        return wanted and known <= MOST_IN_MEMORY
