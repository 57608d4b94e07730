"""Clusters of units with at most L clusters a unit: all clusters together cost L times the cost of one.

DP-SynRAG, Theorem 1. `partition.partition_by_cluster` decides which clusters a unit is in.
"""

from dataclasses import dataclass

from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Cost, Times, Together
from discreet.privacy.filter import Priced, PrivacyFilter
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.privacy.private import Change


@dataclass(frozen=True)
class InEachCluster:
    """The draws in every cluster, as one cost for every unit.

    Attributes:
        what: the description for the receipt.
        drawn: the mechanisms that run in one cluster, each with its number of draws.
        overlap: the largest number of clusters of a unit.
    """

    what: str
    drawn: tuple[tuple[Priced, int], ...]
    overlap: int

    def __str__(self) -> str:
        return f"{self.what}, a unit in at most {self.overlap} cluster{'s' if self.overlap > 1 else ''}"

    def of_one(self, change: Change) -> Cost:
        """Return the cost of one cluster."""
        return Together(tuple(Times(priced.cost(change), times) for priced, times in self.drawn))

    def cost(self, change: Change) -> Cost:
        """Return the cost of all clusters for a unit."""
        return Times(self.of_one(change), self.overlap)


def filters(privacy: PrivacyFilter, each: InEachCluster, count: int) -> list[PrivacyFilter]:
    """Pay for all clusters; return a filter for each, which can spend the cost of one cluster and has its own noise.

    The filters may be used concurrently: the draws of one do not depend on the timing of the others.

    Raises:
        BudgetExhausted: if the budget refuses. Nothing was charged or drawn.
    """
    privacy.pay(each, ADD_REMOVE_ONE)
    most = Spending.of(each.of_one(ADD_REMOVE_ONE))
    return [privacy.within(most, privacy.noise.beside()) for _ in range(count)]
