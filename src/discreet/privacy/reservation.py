"""An amount that was paid in advance, and is spent in several charges."""

from discreet.errors import LedgerError
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.ledger import CeilingReached, Charge


class Reservation:
    """The amount reserved for a part of a question, as the ledger of the filter that spends it."""

    def __init__(self, most: Spending, budget: Budget, *, simulation: bool) -> None:
        self.most, self.budget, self.simulation = most, budget, simulation
        self.charges: list[Charge] = []
        self._spent = Spending.nothing()

    def spent(self) -> Spending:
        """Return the sum of all charges so far."""
        return self._spent

    def kept(self) -> Spending:
        """Return the amount that counts as spent after settlement.

        It is more than was charged if the reservation was capped.
        """
        return self.most - (self.most - self._spent)

    def affords(self, extra: Spending) -> bool:
        """Return whether `extra` is left of the reserved amount."""
        return (self._spent + extra).within(self.most)

    def charge(self, charge: Charge) -> bool:
        """Take a charge out of the reservation, which is durable already.

        Raises:
            LedgerError: if the charge is out of order.
            CeilingReached: if the reserved amount is too small.
        """
        if charge.number != len(self.charges):
            raise LedgerError(
                f"Charge {charge.number} is out of order; {len(self.charges)} was expected. Nothing was released."
            )
        total = self._spent + Spending.of(charge.cost)
        if not total.within(self.most):
            raise CeilingReached(self.budget, self._spent, total, self.most)
        self.charges.append(charge)
        self._spent = total
        return True
