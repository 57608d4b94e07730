"""Plain RAG: the nearest passages in one prompt. No guarantee: the answer may repeat any of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.answer import Draft
from discreet.algorithms.greedy import write, write_all
from discreet.generation.model import LanguageModel, Prompt
from discreet.generation.prompts import DOCUMENT_TOKENS, layout
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import PrivacyFilter
from discreet.retrieval.documents import Passage
from discreet.retrieval.retriever import Corpus


@dataclass(frozen=True, kw_only=True)
class RAG:
    """Greedy decoding with documents in the prompt.

    Attributes:
        units: how many units' passages are read.
        max_tokens: the longest answer.
        prefix: how the answer begins.
    """

    name: ClassVar[str] = "rag"
    private: ClassVar[bool] = False

    units: int = 1
    max_tokens: int = 32
    prefix: str = ""

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Nothing is paid, and nothing is promised."""

    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: PrivacyFilter) -> Draft:
        """Answer from the nearest passages."""
        return self.read(question, corpus.unsealed_passages(question, self.units), model)

    def read(self, question: str, passages: Sequence[Passage], model: LanguageModel) -> Draft:
        """Answer from passages."""
        shared, prompt = self.laid_out(question, passages, model)
        return write(model, shared, prompt, self.prefix, self.max_tokens)

    def read_all(self, asked: Sequence[tuple[str, Sequence[Passage]]], model: LanguageModel) -> list[Draft]:
        """Answer many questions, each from its passages, several at once."""
        prompts = [self.laid_out(question, passages, model) for question, passages in asked]
        written = write_all(model, prompts, self.max_tokens)
        return [
            Draft(self.prefix + model.decode(tokens), "end" if ended else "length", len(tokens))
            for tokens, ended in written
        ]

    def laid_out(
        self, question: str, passages: Sequence[Passage], model: LanguageModel
    ) -> tuple[tuple[int, ...], Prompt]:
        """What the model reads: its beginning, which is public, and the rest."""
        laid_out = layout(
            model,
            question,
            prefix=self.prefix,
            document_tokens=DOCUMENT_TOKENS * self.units,
            max_tokens=self.max_tokens,
        )
        tokens = [token for passage in passages for token in model.encode(passage.text)[:DOCUMENT_TOKENS]]
        return laid_out.shared, laid_out.prompt(tokens)
