"""Plain RAG: the nearest passages in one prompt. No guarantee: the answer may repeat any of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.base import Algorithm, AlgorithmSpec, GeneratedAnswer, Guarantee, Query
from discreet.algorithms.text.writing import write, write_all
from discreet.baselines.corpus import require_baseline
from discreet.generation.model import Prompt, VotingModel
from discreet.generation.prompts import DOCUMENT_TOKENS, layout
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget
from discreet.retrieval.documents import Passage
from discreet.retrieval.sealed_corpus import SealedCorpus


@dataclass(frozen=True, kw_only=True)
class RAG(Algorithm):
    """Greedy decoding with documents in the prompt.

    Attributes:
        units: the number of units whose passages are read.
        max_tokens: the longest answer in tokens.
        prefix: the first words of the answer.
    """

    name: ClassVar[str] = "rag"
    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.NOTHING, guarantee=Guarantee.NONE)

    units: int = 1
    max_tokens: int = 32
    prefix: str = ""

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Return None: the algorithm charges nothing, and gives no guarantee."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Answer from the nearest passages."""
        account.unpaid()  # refuses if answers must be paid
        return self.read(query.text, require_baseline(corpus).unsealed_passages(query.text, self.units), model)

    def read(self, question: str, passages: Sequence[Passage], model: VotingModel) -> GeneratedAnswer:
        """Answer from `passages`."""
        shared, prompt = self.laid_out(question, passages, model)
        return write(model, shared, prompt, self.prefix, self.max_tokens)

    def read_all(self, asked: Sequence[tuple[str, Sequence[Passage]]], model: VotingModel) -> list[GeneratedAnswer]:
        """Answer many questions in batches, each from its own passages."""
        prompts = [self.laid_out(question, passages, model) for question, passages in asked]
        written = write_all(model, prompts, self.max_tokens)
        return [
            GeneratedAnswer(self.prefix + model.decode(tokens), "end" if ended else "length", len(tokens))
            for tokens, ended in written
        ]

    def laid_out(
        self, question: str, passages: Sequence[Passage], model: VotingModel
    ) -> tuple[tuple[int, ...], Prompt]:
        """Return the prompt in two parts: the public beginning, and the rest."""
        laid_out = layout(
            model,
            question,
            prefix=self.prefix,
            document_tokens=DOCUMENT_TOKENS * self.units,
            max_tokens=self.max_tokens,
        )
        tokens = [token for passage in passages for token in model.encode(passage.text)[:DOCUMENT_TOKENS]]
        return laid_out.shared, laid_out.prompt(tokens)
