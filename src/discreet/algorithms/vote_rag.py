"""VoteRAG: every token by a plain vote. No guarantee; what DPVoteRAG would say without noise."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.answer import Draft, Stopped
from discreet.errors import UsageError
from discreet.generation.model import LanguageModel
from discreet.generation.voters import Voters
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
class VoteRAG:
    """The baseline of Koga, Wu and Chaudhuri: DPVoteRAG with a plain vote.

    Attributes:
        voters: how many voters (m).
        units_per_voter: how many units each reads (k).
        max_tokens: the longest answer.
        prefix: how the answer begins.
        document_tokens: public length to which a unit's passage is cut or padded; the model's default if 0.
    """

    name: ClassVar[str] = "vote-rag"
    private: ClassVar[bool] = False

    voters: int = 40
    units_per_voter: int = 1
    max_tokens: int = 32
    prefix: str = ""
    document_tokens: int = 0

    def __post_init__(self) -> None:
        if self.voters < 1:
            raise UsageError(f"The number of voters is at least 1, not {self.voters}. Try 40.")

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Nothing is paid, and nothing is promised."""

    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: PrivacyFilter) -> Draft:
        """Answer by plain votes."""
        documents = corpus.top_units(question, self.voters, self.units_per_voter)
        voters = Voters(
            model,
            question,
            documents.map(lambda passages: tuple(passage.text for passage in passages)),
            units_per_voter=self.units_per_voter,
            prefix=self.prefix,
            max_tokens=self.max_tokens,
            document_tokens=self.document_tokens,
        )
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
