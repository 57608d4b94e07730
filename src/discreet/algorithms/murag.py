"""MuRAG: only units that are relevant to a question pay for it.

"Privacy-Preserving Retrieval-Augmented Generation for multiple questions", Algorithm 1. The threshold of relevance
is public, so that whether a unit pays depends on nothing but that unit.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.answer import Draft
from discreet.algorithms.multi import ManyQuestions
from discreet.errors import UsageError
from discreet.generation.model import LanguageModel
from discreet.privacy.individual import UnitFilter
from discreet.retrieval.retriever import Corpus, deal_passages


@dataclass(frozen=True, kw_only=True)
class MuRAG(ManyQuestions):
    """Algorithm 1. Parameters: see `ManyQuestions`, and one more.

    Attributes:
        similarity: a unit is relevant if its best passage is at least so similar to the question (tau): public, or
            released privately (`discreet tune`).
    """

    name: ClassVar[str] = "murag"

    similarity: float = 0.6

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.similarity) and -1 <= self.similarity <= 1):
            raise UsageError(f"A similarity lies between -1 and 1, not {self.similarity}. `discreet tune` finds one.")

    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: UnitFilter) -> Draft:
        """Answer from the nearest of the relevant units that can pay."""
        rounds = self.rounds(privacy.budget, model.vocabulary_size)
        relevant = corpus.above(question, self.similarity)  # line 3, but for who can pay
        paying, paid = privacy.admit(relevant, rounds.plan.most)  # lines 2-5
        documents = deal_passages(paying, self.inner.voters, self.inner.units_per_voter)  # line 6
        return self.inner.respond(question, documents, model, paid, rounds, corpus.public)  # line 7
