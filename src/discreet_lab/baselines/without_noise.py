"""KSA and VoteRAG: DP-KSA and DPVoteRAG without noise, and without a guarantee. They show the effect of the noise."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.base import Algorithm, AlgorithmSpec, GeneratedAnswer, Guarantee, Query, Stopped
from discreet.algorithms.dp_ksa import KeywordConfig
from discreet.algorithms.ensemble import VoterConfig
from discreet.models.protocol import VotingModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget
from discreet.privacy.costs import Cost, NonPrivate
from discreet.privacy.mechanisms.selection import Words, by_count, gap_after
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change
from discreet.store.sealed_corpus import SealedCorpus

# --- ksa --------------------------------------------------------------------------------------------------------------


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


# --- vote rag ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plurality:
    """The most frequent vote, without noise; of equally frequent ones, the lowest."""

    def cost(self, change: Change) -> Cost:
        """Return a cost without a bound."""
        return NonPrivate()

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        """Return the most frequent vote."""
        return min(Counter(shares).items(), key=lambda item: (-item[1], item[0]))[0]


@dataclass(frozen=True, kw_only=True)
class VoteRAG(VoterConfig, Algorithm):
    """The baseline of Koga, Wu and Chaudhuri: DPVoteRAG without noise. Parameters: see `VoterConfig`."""

    name: ClassVar[str] = "vote-rag"
    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.NOTHING, guarantee=Guarantee.NONE)

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Return None: the algorithm charges nothing, and gives no guarantee."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Answer by votes without noise."""
        documents = corpus.top_units(query.text, self.voters, self.units_per_voter)
        voters = self.start_voters(query.text, documents, model)
        answer: list[int] = []
        stopped: Stopped = "length"
        for _ in range(self.max_tokens):
            token = account.unpaid().release(Plurality(), voters.votes())
            if token in model.end_tokens:
                stopped = "end"
                break
            answer.append(token)
            voters.append(token)
        return GeneratedAnswer(self.prefix + model.decode(answer), stopped, len(answer), len(answer))
