"""Clusters of units, a unit in at most L of them: all clusters together cost L times what one costs.

DP-SynRAG, Theorem 1. Which clusters a unit is in is decided by `individual.clusters`.
"""

from dataclasses import dataclass

from discreet.privacy.accounting import Spending
from discreet.privacy.change import Change
from discreet.privacy.costs import Cost, Times, Together
from discreet.privacy.filter import Priced, PrivacyFilter
from discreet.privacy.partition import ADD_REMOVE_ONE


@dataclass(frozen=True)
class InEachCluster:
    """What is drawn in every cluster, as everybody pays for it.

    Attributes:
        what: what it is, for the receipt.
        drawn: what is drawn in one cluster, and how often.
        overlap: in how many clusters a unit is at most.
    """

    what: str
    drawn: tuple[tuple[Priced, int], ...]
    overlap: int

    def __str__(self) -> str:
        return f"{self.what}, a unit in at most {self.overlap} cluster{'s' if self.overlap > 1 else ''}"

    def of_one(self, change: Change) -> Cost:
        """What one cluster costs."""
        return Together(tuple(Times(priced.cost(change), times) for priced, times in self.drawn))

    def cost(self, change: Change) -> Cost:
        """What all of them cost a unit."""
        return Times(self.of_one(change), self.overlap)


def filters(privacy: PrivacyFilter, each: InEachCluster, count: int) -> list[PrivacyFilter]:
    """Pay for all clusters, and give each a filter that can draw what was paid for one, with noise of its own.

    They may be spent at once: what one draws does not follow from when others do.

    Raises:
        BudgetExhausted: nothing was charged or drawn.
    """
    privacy.pay(each, ADD_REMOVE_ONE)
    most = Spending.of(each.of_one(ADD_REMOVE_ONE))
    return [privacy.within(most, privacy.noise.beside()) for _ in range(count)]
