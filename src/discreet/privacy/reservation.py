"""What was paid in advance, to be spent piece by piece."""

from discreet.errors import LedgerError
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.ledger import Charge, exhausted


class Reservation:
    """What was reserved for a part of a question, as the ledger of the filter that spends it."""

    def __init__(self, most: Spending, budget: Budget, *, simulation: bool) -> None:
        self.most, self.budget, self.simulation = most, budget, simulation
        self.charges: list[Charge] = []
        self._spent = Spending.nothing()

    def spent(self) -> Spending:
        """What was charged so far."""
        return self._spent

    def kept(self) -> Spending:
        """What counts as spent once the rest is returned: more than was charged where the reservation was cut."""
        return self.most - (self.most - self._spent)

    def affords(self, extra: Spending) -> bool:
        """Whether `extra` is left of what was reserved."""
        return (self._spent + extra).within(self.most)

    def charge(self, charge: Charge) -> bool:
        """Take a charge out of the reservation, which is durable already."""
        if charge.number != len(self.charges):
            raise LedgerError("A charge was made twice, or left out. Nothing was released. Ask a new question.")
        total = self._spent + Spending.of(charge.cost)
        if not total.within(self.most):
            raise exhausted(self.budget, self._spent, total)
        self.charges.append(charge)
        self._spent = total
        return True
