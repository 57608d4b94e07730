"""MuRAG-Ada: MuRAG with an adaptive threshold for each question.

"Privacy-Preserving Retrieval-Augmented Generation for multiple questions", Algorithm 2: retrieval by noisy bins.
Similarities are cut into public bins, which are visited from the top. A noisy count of each bin covers the units that
can pay to be counted. The visit stops when the sum of the counts is large enough. A unit is in one bin, so its count
costs the same for any number of visited bins.

The algorithm, as numbered in the paper:

    2-8         the bins are visited and counted          `retrieve`
    11, 14-15   the units of the visited bins pay         `retrieve`
    12          the nearest of them are dealt to voters   `PrivateRAG.answer`, if `all_vote` is false
                all of them are counted, and have rows    `AllVoteRAG.answer`
    13          the voters answer                         `inner.respond`
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.common.algorithm import Query
from discreet.algorithms.common.ensemble import RoundBudget, check_number
from discreet.algorithms.common.private_rag import AllVoteRAG, VotingBudget
from discreet.errors import UsageError
from discreet.privacy.account import Account
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.privacy.partition import ADD_REMOVE_ONE, Count, together
from discreet.privacy.private import Private
from discreet.privacy.transcript import MISSED
from discreet.retrieval.sealed_corpus import Found, SealedCorpus

FEW_BINS, MANY_BINS = 16, 40
USUAL_EPSILON = 0.5
ABOVE_NOISE = 2.75
"""The least number of standard deviations by which the sum of the counts exceeds 0 when the visit stops.

The noise of empty bins alone exceeds so much in one of 54 visits of 16 bins (Gaussian), or in one of 34 (Laplace)."""


@dataclass(frozen=True, kw_only=True)
class MuRAGAda(AllVoteRAG):
    """Algorithm 2. Parameters: those of `AllVoteRAG`, and more.

    Attributes:
        epsilon_threshold: the epsilon that the count of its bin costs a unit (epsilon_thr). If None, it is a part of
            the question's price if all admitted units vote, and else 0.5.
        highest, lowest: the similarities between which the bins lie. Units below the lowest never take part.
        bins: the number of bins of equal width. The first one also has all similarities above it. 0 for 16 bins if all
            admitted units vote, since the noise of the counts adds up, and else for 40.
        enough: the visit stops when more than so many units were counted (K). 0 for the number that voters read; if all
            admitted units vote, for the number of which 60 % release an answer nine times in ten, and the standard
            deviation of the noise; at least `ABOVE_NOISE` standard deviations.
    """

    name: ClassVar[str] = "murag-ada"

    epsilon_threshold: float | None = None
    highest: float = 0.6
    lowest: float = 0.2
    bins: int = 0
    enough: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon_threshold is not None:
            check_number("epsilon_threshold", self.epsilon_threshold)
        if not -1 <= self.lowest < self.highest <= 1 or self.bins < 0 or self.enough < 0:
            raise UsageError(
                "Bins lie between similarities -1 <= lowest < highest <= 1. Their number and `enough` are at least 0, "
                f"not {self.bins} and {self.enough}."
            )

    @property
    def selection_epsilon(self) -> float:
        """The epsilon that the count costs a unit, if not all admitted units vote."""
        return USUAL_EPSILON if self.epsilon_threshold is None else self.epsilon_threshold

    @property
    def counts_bins(self) -> bool:
        """Whether the retrieval counts bins: it does."""
        return True

    @property
    def bin_epsilon(self) -> float | None:
        """The epsilon of the count of a bin, if it is given."""
        return self.epsilon_threshold

    @property
    def edges(self) -> list[float]:
        """The lower ends of the bins, from the top."""
        bins = self.bins or (FEW_BINS if self.all_vote else MANY_BINS)
        width = (self.highest - self.lowest) / bins
        return [self.highest - width * (number + 1) for number in range(bins)]

    def retrieve(
        self, query: Query, corpus: SealedCorpus, rounds: RoundBudget, account: Account
    ) -> tuple[Private[Found], PrivacyFilter]:
        """Visit bins until enough units were counted. The units that can pay take part (lines 2-11, 14-15)."""
        count: Count = NoisyCount.calibrated(self.selection_epsilon, ADD_REMOVE_ONE)
        enough, noise, counted, visited = self.enough or self.units_read, 0.0, 0, list[Private[Found]]()
        if isinstance(rounds, VotingBudget) and rounds.bin_count:
            count = rounds.bin_count
            if not self.enough:
                enough, noise = rounds.enough, count.deviation
        for bin_ in corpus.bins(query.searched, self.edges):  # line 2
            able, paid = account.admit(bin_, rounds.plan.selection_cost, disjoint=True)  # lines 3, 6-7
            found = paid.release(count, able.map(lambda _: True))  # line 4
            paid.note_payers(max(0, found + count.tail(MISSED)))
            counted += found
            visited.append(able)  # line 5
            deviation = noise * math.sqrt(len(visited))
            if counted > max(enough + deviation, ABOVE_NOISE * deviation):  # line 8
                break
        return account.admit(together(visited), rounds.plan.generation_cost)  # lines 11, 14-15
