"""VoteRAG: every token by a plain vote. No guarantee; what DPVoteRAG would say without noise."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.answer import Draft, Stopped
from discreet.algorithms.panel import Panel
from discreet.generation.model import LanguageModel
from discreet.privacy.accounting import Budget
from discreet.privacy.change import Change
from discreet.privacy.costs import Cost, NonPrivate
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.noise import Noise
from discreet.retrieval.retriever import Corpus


@dataclass(frozen=True)
class Plurality:
    """The most frequent vote, as it is; of equal ones, the lowest."""

    def cost(self, change: Change) -> Cost:
        """None that could be bounded."""
        return NonPrivate()

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        """The most frequent vote."""
        return min(Counter(shares).items(), key=lambda item: (-item[1], item[0]))[0]


@dataclass(frozen=True, kw_only=True)
class VoteRAG(Panel):
    """The baseline of Koga, Wu and Chaudhuri: DPVoteRAG with a plain vote. Parameters: see `Panel`."""

    name: ClassVar[str] = "vote-rag"
    private: ClassVar[bool] = False

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Nothing is paid, and nothing is promised."""

    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: PrivacyFilter) -> Draft:
        """Answer by plain votes."""
        documents = corpus.top_units(question, self.voters, self.units_per_voter)
        voters = self.start_voters(question, documents, model)
        answer: list[int] = []
        stopped: Stopped = "length"
        for _ in range(self.max_tokens):
            token = privacy.release(Plurality(), voters.votes())
            if token in model.end_tokens:
                stopped = "end"
                break
            answer.append(token)
            voters.append(token)
        return Draft(self.prefix + model.decode(answer), stopped, len(answer), len(answer))
