"""Naive multi-question RAG: every unit of the vault pays for every question.

MuRAG, Algorithm 4: the single-question algorithm, composed. With it a vault of epsilon 10 answers a handful of
questions; it is what the others are measured against.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from discreet.algorithms.answer import Draft
from discreet.algorithms.multi import ManyQuestions
from discreet.generation.model import LanguageModel
from discreet.privacy.individual import UnitFilter
from discreet.retrieval.retriever import Corpus, deal_passages


@dataclass(frozen=True, kw_only=True)
class NaiveMultiRAG(ManyQuestions):
    """Algorithm 4. Parameters: see `ManyQuestions`."""

    name: ClassVar[str] = "naive-multi-rag"

    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: UnitFilter) -> Draft:
        """Answer from the nearest units of all that can still pay."""
        voters, each = self.inner.voters, self.inner.units_per_voter
        rounds = self.rounds(privacy.budget, model.vocabulary_size)
        nearest, paid = privacy.admit_everybody(partial(corpus.nearest, question), voters * each, rounds.plan.most)
        documents = deal_passages(nearest, voters, each)
        return self.inner.respond(question, documents, model, paid, rounds, corpus.public)  # line 2
