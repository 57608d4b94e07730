"""Direct prompting over projected embeddings: a claim without a guarantee. The answer may repeat the passages.

Yao and Li, Algorithm 1, with direct prompting for M (their Section 4.1). The documents' embeddings are projected once,
and each question's embedding by the same matrix. The prompt contains the nearest passages in the projected space,
unchanged.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from discreet.algorithms.base import GeneratedAnswer, Query
from discreet.baselines.corpus import require_baseline
from discreet.baselines.rag import RAG
from discreet.generation.model import VotingModel
from discreet.privacy.account import Account
from discreet.privacy.accounting import Budget
from discreet.retrieval.documents import Passage, StoredText
from discreet.retrieval.sealed_corpus import SealedCorpus
from discreet_lab.baselines.brute_force_knn import Neighbours
from discreet_lab.baselines.projected import Projected
from discreet_lab.projection import Transform, Vectors


@dataclass(frozen=True, eq=False)
class ProjectedTexts:
    """Passages with their projected vectors."""

    transform: Transform
    passages: list[Passage] = field(repr=False)
    keys: Neighbours = field(repr=False)

    @staticmethod
    def of(texts: Sequence[StoredText], transform: Transform) -> "ProjectedTexts":
        """Project all passages (lines 4 and 5 of Algorithm 1).

        Raises:
            BadData: if an embedding is zero.
        """
        passages = [Passage(text.unit, text.text) for text in texts]
        return ProjectedTexts(transform, passages, Neighbours.of(transform.documents(_of_length_one(texts, transform))))

    def nearest(self, vector: Vectors, units: int) -> list[Passage]:
        """Return the passages nearest to a question's vector, at most one of each unit (line 7)."""
        _, ranked = self.keys.nearest(self.transform.questions(vector[None]), len(self.passages))
        passages: dict[str, Passage] = {}
        for number in ranked[0].tolist():
            if len(passages) == units:
                break
            passages.setdefault(self.passages[number].unit, self.passages[number])
        return list(passages.values())


@dataclass(frozen=True, kw_only=True)
class ProjectionRAG(Projected):
    """Plain RAG that searches projected embeddings. Parameters: those of `Projected`, and more.

    Attributes:
        units: the number of units whose passages are read.
        max_tokens: the longest answer in tokens.
        prefix: the first words of the answer.
    """

    name: ClassVar[str] = "projection-rag"

    units: int = 1
    max_tokens: int = 32
    prefix: str = ""

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Return None: the algorithm charges nothing, and gives no guarantee."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Answer from the passages that are nearest in the projected space."""
        corpus = require_baseline(corpus)
        vector = corpus.embed(query.text)
        transform = self.transform(len(vector), account.noise, corpus.folder)
        projected = corpus.made_once(transform.fingerprint, lambda texts: ProjectedTexts.of(texts, transform))
        passages = account.unpaid().release(self.opening(), projected).nearest(vector, self.units)
        return RAG(units=self.units, max_tokens=self.max_tokens, prefix=self.prefix).read(query.text, passages, model)


def _of_length_one(texts: Sequence[StoredText], transform: Transform) -> Vectors:
    if not texts:
        return np.empty((0, transform.size), dtype=np.float32)
    whole = np.array([text.vector for text in texts], dtype=np.float32)
    lengths = np.linalg.norm(whole, axis=1, keepdims=True)
    return np.asarray(whole / np.where(lengths > 0, lengths, 1), dtype=np.float32)
