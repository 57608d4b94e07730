"""Baselines: plain RAG and non-RAG, with the documents in the clear where they read them. Neither has a guarantee."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from discreet.algorithms.base import Algorithm, AlgorithmSpec, GeneratedAnswer, Guarantee, Input, Query
from discreet.algorithms.text.writing import write, write_all
from discreet.errors import UsageError
from discreet.models.prompts import DOCUMENT_TOKENS, layout
from discreet.models.protocol import Prompt, VotingModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private
from discreet.store.documents import Passage, StoredText
from discreet.store.embedding import Embedder
from discreet.store.protocol import Store
from discreet.store.sealed_corpus import SealedCorpus

# --- corpus -----------------------------------------------------------------------------------------------------------


T = TypeVar("T")


class BaselineCorpus(SealedCorpus):
    """A corpus that is also readable in the clear. A vault gives it to algorithms without a guarantee only.

    Attributes:
        folder: the folder for data that a baseline derives from all documents, private like the documents; None if it
            may keep nothing.
    """

    def __init__(self, store: Store, embedder: Embedder, secret: bytes = b"", folder: Path | None = None) -> None:
        super().__init__(store, embedder, secret)
        self.folder = folder
        self._made: dict[str, tuple[object, Any]] = {}

    def unsealed_passages(self, question: str, count: int) -> list[Passage]:
        """Return the nearest passages in the clear, at most one of each unit."""
        return self._store.nearest_units(self.embed(question), count)

    def made_once(self, name: str, make: Callable[[list[StoredText]], T]) -> Private[T]:
        """Return the value that `make` derives from all chunks, sealed as one share. It is kept until documents change.

        One unit may change all of the value.
        """
        state = self._store.state()
        if name not in self._made or self._made[name][0] != state:
            self._made[name] = (state, make(self._store.texts()))
        return Private([self._made[name][1]], REPLACE_ONE)


def require_baseline(corpus: SealedCorpus) -> BaselineCorpus:
    """Return the corpus as one that is readable in the clear.

    Raises:
        UsageError: if the corpus is sealed, since a guarantee is demanded.
    """
    if not isinstance(corpus, BaselineCorpus):
        raise UsageError(
            "The corpus is sealed, and the algorithm reads documents in the clear. Expected: a BaselineCorpus. A vault "
            "gives one to algorithms that declare no guarantee."
        )
    return corpus


# --- non rag ----------------------------------------------------------------------------------------------------------


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


# --- rag --------------------------------------------------------------------------------------------------------------


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
