"""KSA: DP-KSA without noise, and without a guarantee. The comparison shows the effect of the noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.base import Algorithm, AlgorithmSpec, GeneratedAnswer, Guarantee, Query
from discreet.algorithms.dp_ksa import KeywordConfig
from discreet.generation.model import VotingModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget
from discreet.privacy.costs import Cost, NonPrivate
from discreet.privacy.mechanisms.selection import Words, by_count, gap_after
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change
from discreet.retrieval.sealed_corpus import SealedCorpus


@dataclass(frozen=True)
class LargestGap:
    """The most frequent words up to the largest gap of counts, without noise; of equal gaps, the first."""

    least: int
    most: int

    def cost(self, change: Change) -> Cost:
        """Return a cost without a bound."""
        return NonPrivate()

    def draw(self, shares: Sequence[Words], noise: Noise) -> tuple[str, ...]:
        """Return the words in alphabetical order."""
        ranked = by_count(shares)
        size = max(range(self.least, self.most + 1), key=lambda size: gap_after(size, ranked))
        return tuple(sorted(word for word, _ in ranked[:size]))


@dataclass(frozen=True, kw_only=True)
class KSA(KeywordConfig, Algorithm):
    """The baseline of Tang et al. (2026): DP-KSA with the exact counts. Parameters: see `KeywordConfig`."""

    name: ClassVar[str] = "ksa"
    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.NOTHING, guarantee=Guarantee.NONE)

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Return None: the algorithm charges nothing, and gives no guarantee."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Answer from the words that voters have in common."""
        documents = corpus.top_units(query.text, self.voters, self.units_per_voter)
        answers, _ = self.start_voters(query.text, documents, model).answers()
        said = self.new_words(query.text, answers)
        words = account.unpaid().release(LargestGap(self.fewest_keywords, self.most_keywords), said)
        return self.answer_with(words, query.text, model)
