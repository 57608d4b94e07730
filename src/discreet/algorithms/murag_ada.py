"""MuRAG-Ada: MuRAG with an adaptive threshold for each question.

"Privacy-Preserving Retrieval-Augmented Generation for multiple questions", Algorithm 2: retrieval by noisy bins.
Similarities are cut into public bins, which are visited from the top. A noisy count of each bin covers the units that
can pay to be counted. The visit stops when the sum of the counts is large enough. A unit is in one bin, so its count
costs the same for any number of visited bins.

The algorithm, as numbered in the paper:

    2-8         the bins are visited and counted          `retrieve`
    11, 14-15   the units of the visited bins pay         `retrieve`
    12          the nearest of them are dealt to voters   `PrivateRAG.run`
    13          the voters answer                         `inner.respond`
"""

from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.common.algorithm import Query
from discreet.algorithms.common.ensemble import RoundBudget, check_number
from discreet.algorithms.common.private_rag import PrivateRAG
from discreet.errors import UsageError
from discreet.privacy.account import Account
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Pure
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.privacy.partition import ADD_REMOVE_ONE, together
from discreet.privacy.private import Private
from discreet.retrieval.sealed_corpus import Found, SealedCorpus


@dataclass(frozen=True, kw_only=True)
class MuRAGAda(PrivateRAG):
    """Algorithm 2. Parameters: those of `PrivateRAG`, and more.

    Attributes:
        epsilon_threshold: the epsilon that the count costs a unit (epsilon_thr).
        highest, lowest: the similarities between which the bins lie. Units below the lowest never take part.
        bins: the number of bins of equal width. The first one also has all similarities above it.
        enough: the visit stops when more than so many units were counted (K); 0 for the number of units that voters
            read.
    """

    name: ClassVar[str] = "murag-ada"

    epsilon_threshold: float = 0.5
    highest: float = 0.8
    lowest: float = 0.2
    bins: int = 40
    enough: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("epsilon_threshold", self.epsilon_threshold)
        if not -1 <= self.lowest < self.highest <= 1 or self.bins < 1 or self.enough < 0:
            raise UsageError("Bins lie between similarities -1 <= lowest < highest <= 1; there is at least one bin.")

    @property
    def selection_epsilon(self) -> float:
        """The epsilon that the count costs a unit."""
        return self.epsilon_threshold

    @property
    def edges(self) -> list[float]:
        """The lower ends of the bins, from the top."""
        width = (self.highest - self.lowest) / self.bins
        return [self.highest - width * (number + 1) for number in range(self.bins)]

    def retrieve(
        self, query: Query, corpus: SealedCorpus, rounds: RoundBudget, account: Account
    ) -> tuple[Private[Found], PrivacyFilter]:
        """Visit bins until enough units were counted. The units that can pay take part (lines 2-11, 14-15)."""
        count = NoisyCount.calibrated(self.epsilon_threshold, ADD_REMOVE_ONE)
        price = Spending.of(Pure(self.epsilon_threshold))
        enough, counted, visited = self.enough or self.units_read, 0, []
        for bin_ in corpus.bins(query.text, self.edges):  # line 2
            able, paid = account.admit(bin_, price, disjoint=True)  # lines 3, 6-7
            counted += paid.release(count, able.map(lambda _: True))  # line 4
            visited.append(able)  # line 5
            if counted > enough:  # line 8
                break
        return account.admit(together(visited), rounds.plan.generation_cost)  # lines 11, 14-15
