"""MuRAG: a private answer to each of many questions, for which only the units pay that are relevant.

"Privacy-Preserving Retrieval-Augmented Generation for multiple questions": retrieval above a threshold (Algorithm 1,
`MuRAG`), retrieval by noisy bins (Algorithm 2, `MuRAGAda`), the composition of single questions (Algorithm 4,
`NaiveMultiRAG`), and a single question in pure differential privacy (Algorithm 5, `DPRAGPure`). Algorithm 3, the answer
of the units that were admitted, is `PrivateRAG.answer`; if all of them vote, `AllVoteRAG.answer`.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from discreet.algorithms.base import Query
from discreet.algorithms.dp_vote_rag import DPSparseVoteRAG
from discreet.algorithms.ensemble import RoundBudget, check_number
from discreet.algorithms.retrieval import AllVoteRAG, PrivateRAG, VotingBudget
from discreet.errors import UsageError
from discreet.privacy.account import Account
from discreet.privacy.accounting import Budget
from discreet.privacy.costs import Cost
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.privacy.partition import ADD_REMOVE_ONE, Count, together
from discreet.privacy.private import Private
from discreet.privacy.transcript import MISSED
from discreet.store.sealed_corpus import Found, SealedCorpus

# --- Algorithm 1: only units that are relevant pay --------------------------------------------------------------------
# The threshold is public, so a unit's payment depends on that unit alone. The algorithm, as numbered in the paper:
#
#     2-5  all relevant units that can pay, pay             `retrieve`
#     6    the nearest of them are dealt to voters          `PrivateRAG.answer`, if `all_vote` is false
#          all of them are counted, and have rows           `AllVoteRAG.answer`
#     7    the voters answer                                `inner.respond`


@dataclass(frozen=True, kw_only=True)
class MuRAG(AllVoteRAG):
    """MuRAG: only units that are relevant to a question pay for it.

    Algorithm 1. Parameters: those of `AllVoteRAG`, and one more.

    Attributes:
        similarity: the threshold (tau). A unit is relevant if the similarity of its best passage to the question
            reaches it. It is public, or released privately (`discreet tune`).
    """

    name: ClassVar[str] = "murag"

    similarity: float = 0.6

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.similarity) and -1 <= self.similarity <= 1):
            raise UsageError(f"A similarity lies between -1 and 1, not {self.similarity}. `discreet tune` finds one.")

    def retrieve(
        self, query: Query, corpus: SealedCorpus, rounds: RoundBudget, account: Account
    ) -> tuple[Private[Found], PrivacyFilter]:
        """Select the relevant units that can pay, and charge all of them (lines 2-5)."""
        relevant = corpus.above(query.searched, self.similarity)  # line 3, without the condition on budgets
        return account.admit(relevant, rounds.plan.generation_cost)  # lines 2-5


# --- Algorithm 2: an adaptive threshold for each question -------------------------------------------------------------
# Similarities are cut into public bins, which are visited from the top. A noisy count of each bin covers the units that
# can pay to be counted. The visit stops when the sum of the counts is large enough. A unit is in one bin, so its count
# costs the same for any number of visited bins.
#
# The algorithm, as numbered in the paper:
#
#     2-8         the bins are visited and counted          `retrieve`
#     11, 14-15   the units of the visited bins pay         `retrieve`
#     12          the nearest of them are dealt to voters   `PrivateRAG.answer`, if `all_vote` is false
#                 all of them are counted, and have rows    `AllVoteRAG.answer`
#     13          the voters answer                         `inner.respond`

FEW_BINS, MANY_BINS = 16, 40
USUAL_EPSILON = 0.5
ABOVE_NOISE = 2.75
"""The least number of standard deviations by which the sum of the counts exceeds 0 when the visit stops.

The noise of empty bins alone exceeds so much in one of 54 visits of 16 bins (Gaussian), or in one of 34 (Laplace)."""


@dataclass(frozen=True, kw_only=True)
class MuRAGAda(AllVoteRAG):
    """MuRAG-Ada: MuRAG with an adaptive threshold for each question.

    Algorithm 2. Parameters: those of `AllVoteRAG`, and more.

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
            noisy = paid.release(count, able.map(lambda _: True))  # line 4
            paid.note_payers(max(0, noisy + count.tail(MISSED)))
            counted += noisy
            visited.append(able)  # line 5
            deviation = noise * math.sqrt(len(visited))
            if counted > max(enough + deviation, ABOVE_NOISE * deviation):  # line 8
                break
        return account.admit(together(visited), rounds.plan.generation_cost)  # lines 11, 14-15


# --- Algorithm 4: all units of the vault pay for all questions --------------------------------------------------------
# The composition of the single-question algorithm, with retrieval by rank. A vault of epsilon 10 answers only a few
# questions with it. It is the reference for the other algorithms.
#
#     1-2  for each question, all units pay; the nearest units that can pay are dealt to voters, who answer


@dataclass(frozen=True, kw_only=True)
class NaiveMultiRAG(PrivateRAG):
    """Naive multi-question RAG: all units of the vault pay for all questions.

    Algorithm 4. Parameters: see `PrivateRAG`.
    """

    name: ClassVar[str] = "naive-multi-rag"

    def retrieve(
        self, query: Query, corpus: SealedCorpus, rounds: RoundBudget, account: Account
    ) -> tuple[Private[Found], PrivacyFilter]:
        """Charge all units, and select the nearest units that can pay (line 2)."""
        paying = account.charge_every_unit(rounds.plan.max_cost)
        return paying.nearest(partial(corpus.nearest, query.searched), self.units_read), paying.paid


# --- Algorithm 5: a single question, in pure differential privacy -----------------------------------------------------
# It is DPSparseVoteRAG with the exponential mechanism over the whole vocabulary in place of LimitedDomain. The
# exponential mechanism cannot fail. In the paper, all runs of the sparse vector share one noisy threshold (line 2).
# Here each run has its own, which the proof needs.


@dataclass(frozen=True, kw_only=True)
class DPRAGPure(DPSparseVoteRAG):
    """DP-RAG for a single question, in pure differential privacy.

    Algorithm 5. Parameters: those of `DPSparseVoteRAG`, with delta 0 and the plain sum of epsilons.
    """

    name: ClassVar[str] = "dp-rag-pure"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.selection != "vocabulary" or self.delta is not None:
            raise UsageError("'dp-rag-pure' selects from the whole vocabulary and has no delta. Leave both out.")

    def ceiling(self, cost: Cost, delta: float, failures: float) -> Budget:
        """Return the budget in pure epsilon, with delta 0."""
        return Budget(self.epsilon, 0.0, accountant="pure")
