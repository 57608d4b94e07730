"""Non-RAG: the public model alone. Free, and the bar that a private answer has to clear."""

from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.answer import Draft
from discreet.algorithms.greedy import write
from discreet.generation.model import LanguageModel
from discreet.generation.prompts import layout
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import PrivacyFilter
from discreet.retrieval.retriever import Corpus


@dataclass(frozen=True, kw_only=True)
class NonRAG:
    """Greedy decoding of the question without documents.

    Attributes:
        max_tokens: the longest answer.
        prefix: how the answer begins.
    """

    name: ClassVar[str] = "non-rag"
    private: ClassVar[bool] = True

    max_tokens: int = 32
    prefix: str = ""

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Nothing is paid."""

    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: PrivacyFilter) -> Draft:
        """Answer without looking at any document."""
        laid_out = layout(model, question, prefix=self.prefix, document_tokens=0, max_tokens=self.max_tokens)
        return write(model, laid_out.shared, laid_out.prompt(), self.prefix, self.max_tokens)
