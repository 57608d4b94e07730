"""Non-RAG: the public model without documents. It is free, and the lower reference for private answers."""

from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.base import Algorithm, AlgorithmSpec, GeneratedAnswer, Input, Query
from discreet.algorithms.text.writing import write
from discreet.generation.model import VotingModel
from discreet.generation.prompts import layout
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget
from discreet.retrieval.sealed_corpus import SealedCorpus


@dataclass(frozen=True, kw_only=True)
class NonRAG(Algorithm):
    """Greedy decoding of the question without documents.

    Attributes:
        max_tokens: the longest answer in tokens.
        prefix: the first words of the answer.
    """

    name: ClassVar[str] = "non-rag"
    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.NOTHING, inputs=frozenset({Input.MODEL}))

    max_tokens: int = 32
    prefix: str = ""

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Return None: the algorithm charges nothing."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Answer without documents."""
        laid_out = layout(model, query.text, prefix=self.prefix, document_tokens=0, max_tokens=self.max_tokens)
        return write(model, laid_out.shared, laid_out.prompt(), self.prefix, self.max_tokens)
