"""A statistic over public cells, each unit in one cell at most. Privacy-spec, part 11.

1  each unit of the population has one public cell, or none  `cell`
2  of those with a cell, all that can pay, pay               `Statistic.admit`
3  the cells are counted, with noise                         `choose_histogram`
4  the answer follows from the noisy counts alone            `conclude`
"""

from abc import abstractmethod
from dataclasses import dataclass

from discreet.algorithms.common.algorithm import Figure, GeneratedAnswer, Plan, Query
from discreet.algorithms.statistics.conditions import Known
from discreet.algorithms.statistics.counted import Counted
from discreet.algorithms.statistics.noisy_cells import Histogram, choose_histogram, cost_of
from discreet.algorithms.statistics.statistic import Statistic
from discreet.generation.model import VotingModel
from discreet.privacy.account import Account
from discreet.privacy.accounting import Budget
from discreet.retrieval.sealed_corpus import SealedCorpus
from discreet.retrieval.unit_records import UnitRecord

OUTSIDE = -1
"""The cell of a unit that is in none."""


@dataclass(frozen=True, kw_only=True)
class CellStatistic(Statistic):
    """Parameters: see `Statistic`."""

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the cost of the statistic: that of one histogram."""
        return self.price(budget).plan(cost_of(self.histogram(budget)))

    def deviation(self, budget: Budget) -> float:
        """Return the standard deviation of the noise of each count, in units."""
        return self.histogram(budget).deviation

    def histogram(self, budget: Budget) -> Histogram:
        """Return the mechanism that counts the cells."""
        return choose_histogram(self.price(budget), self.cells)

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Charge the units with a cell that can pay (1, 2), count them (3), and conclude (4)."""
        histogram = self.histogram(account.budget)
        able, paid = self.admit(corpus, account, lambda _, record: self._place(record))
        counts = paid.release(histogram, able.map(lambda member: member.value))
        counted = Counted.by(histogram, counts, paid.unable)
        paid.note_payers(counted.most_payers)
        text, table = self.conclude(counted)
        return GeneratedAnswer(text + counted.note, "end", 0, table=tuple(table), counts=counted)

    def _place(self, record: UnitRecord) -> int | None:
        place = self.cell(record)
        return None if place == OUTSIDE else place

    @property
    @abstractmethod
    def cells(self) -> int:
        """The number of public cells."""

    @property
    def known(self) -> Known:
        """The regions whose units it counts, for other questions; none if its cells are no such regions."""
        return {}

    @abstractmethod
    def cell(self, record: UnitRecord) -> int:
        """Return the cell of a unit, from its record alone; `OUTSIDE` if it is in none."""

    @abstractmethod
    def conclude(self, counted: Counted) -> tuple[str, list[Figure]]:
        """Return the answer in words, and the numbers that it rests on."""
