"""A vault: a folder with documents about people, and a ledger of what has been told about them.

VAULT/vault.json      the settings, fixed when the vault is made
VAULT/store/          texts and vectors
VAULT/ledger.sqlite   the grant, and every charge against it
"""

import json
import math
import os
import secrets
import tempfile
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from discreet.algorithms.answer import Algorithm, Answer, Plan
from discreet.algorithms.dp_sparse_vote_rag import DPSparseVoteRAG
from discreet.algorithms.voting import Voting, check_number
from discreet.errors import BudgetExhausted, Interrupted, NoSuchVault, StoreError, UsageError, VaultVersionError
from discreet.generation.model import LanguageModel
from discreet.ledger.records import QuestionRecord
from discreet.ledger.sqlite import SqliteLedger
from discreet.privacy.accounting import Budget, largest
from discreet.privacy.filter import NotPrivateFilter, PrivacyFilter
from discreet.privacy.ledger import Ledger, MemoryLedger
from discreet.privacy.noise import Noise
from discreet.retrieval.documents import Document
from discreet.retrieval.embedding import Embedder, load_embedder
from discreet.retrieval.loading import BadRecord, Fields, read_documents
from discreet.retrieval.retriever import Corpus
from discreet.retrieval.store import EmbeddedStore

VERSION = 1
# Of the vault's delta, this part is for failure probabilities, the rest for converting Renyi curves.
FAILURE_SHARE = 0.5
Progress = Callable[[str, int], None]
"""Told (what is done, how many more are done): for a progress bar."""


@dataclass(frozen=True)
class Settings:
    """What a vault is made with; it cannot be changed afterwards.

    Attributes:
        version: of the vault's format.
        epsilon, delta: the grant.
        unit_field: the field of a record that names the individual it is about.
        model: the language model, by name or path.
        embedder: the embedder, by name or path.
        log_questions: whether the ledger keeps the text of questions.
    """

    version: int
    epsilon: float
    delta: float
    unit_field: str
    model: str
    embedder: str
    log_questions: bool


@dataclass(frozen=True)
class Added:
    """What `add` did.

    Attributes:
        added, replaced, unchanged: counts of documents.
        own_unit: how many carried no unit and so became a unit of their own.
        bad: records that could not be read, by place and reason.
        conflicts: ids that came twice with different text; the first text was kept.
    """

    added: int
    replaced: int
    unchanged: int
    own_unit: int
    bad: tuple[BadRecord, ...]
    conflicts: tuple[str, ...]


@dataclass(frozen=True)
class BudgetReport:
    """What was granted, spent and is left, and the questions that paid."""

    granted: float
    delta: float
    spent: float
    left: float
    unit: str
    questions: tuple[QuestionRecord, ...]

    def describe(self) -> dict[str, Any]:
        """The report as plain data; the keys are those of `discreet budget --json`."""
        return {
            "granted": self.granted,
            "delta": self.delta,
            "spent": self.spent,
            "left": self.left,
            "unit": self.unit,
            "questions": [question.describe() for question in self.questions],
        }


class Vault:
    """A collection of documents that answers questions, and keeps account of it."""

    def __init__(self, path: Path, settings: Settings, ledger: SqliteLedger) -> None:
        self.path, self.settings, self.ledger = path, settings, ledger

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        epsilon: float,
        delta: float,
        unit_field: str = "unit",
        model: str = "smollm2-135m",
        embedder: str = "minilm+words",
        log_questions: bool = False,
    ) -> Self:
        """Make a vault. Its budget is fixed for good.

        Raises:
            UsageError: epsilon or delta is no such number, or something is already at `path`.
        """
        path = Path(path)
        check_number("epsilon", epsilon)
        if not 0 < delta < 1:
            raise UsageError(f"Delta is a probability between 0 and 1, not {delta}. Try 1e-6.")
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UsageError(f"There is already something at {path}. Choose a new folder for the vault.")
        settings = Settings(VERSION, epsilon, delta, unit_field, model, embedder, log_questions)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Made beside its place and renamed, so that a vault is there as a whole or not at all.
            with tempfile.TemporaryDirectory(dir=path.parent, prefix=".vault-") as made:
                folder = Path(made) / "vault"
                folder.mkdir(mode=0o700)
                (folder / "store").mkdir()
                (folder / "vault.json").write_text(json.dumps(asdict(settings), indent=2) + "\n")
                SqliteLedger.create(
                    folder / "ledger.sqlite",
                    Budget(epsilon, delta, FAILURE_SHARE * delta),
                    log_questions=log_questions,
                )
                os.replace(folder, path)
        except OSError as error:
            raise StoreError(f"The vault could not be made at {path}: {error.strerror}.") from error
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a vault.

        Raises:
            NoSuchVault, VaultVersionError, LedgerError: it is not there, not of this version, or not sound.
        """
        path = Path(path)
        file = path / "vault.json"
        if not file.is_file():
            raise NoSuchVault(f"There is no vault at {path}. Make one with: discreet init {path}")
        try:
            content = json.loads(file.read_text())
            version = content["version"]
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise StoreError(f"{file} cannot be read. Restore it from a copy.") from error
        if version != VERSION:
            raise VaultVersionError(
                f"The vault at {path} has format {version}; this program reads format {VERSION}. "
                "Open it with the version of discreet that made it."
            )
        try:
            settings = Settings(**content)
        except TypeError as error:
            raise StoreError(f"{file} lacks settings, or has unknown ones. Restore it from a copy.") from error
        return cls(path, settings, SqliteLedger.open(path / "ledger.sqlite"))

    @cached_property
    def model(self) -> LanguageModel:
        """The language model; loaded at first use."""
        from discreet.generation.loading import load_model

        return load_model(self.settings.model)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder; loaded at first use."""
        return load_embedder(self.settings.embedder)

    @cached_property
    def store(self) -> EmbeddedStore:
        """The documents."""
        return EmbeddedStore(self.path / "store", self.embedder.dimension)

    @cached_property
    def corpus(self) -> Corpus:
        """The documents, to be searched."""
        return Corpus(self.store, self.embedder)

    def add(
        self,
        *paths: str | Path,
        text_field: str = "text",
        unit_field: str | None = None,
        id_field: str = "id",
        progress: Progress | None = None,
    ) -> Added:
        """Read documents from files and folders; add what is new, replace what changed.

        Safe to interrupt and run again. Records that cannot be read are reported, and the rest is added.

        Raises:
            BadData, UsageError: a path is not there or of an unknown kind.
            StoreError: the store cannot be written (a full disk). What was added stays.
        """
        fields = Fields(text=text_field, unit=unit_field or self.settings.unit_field, id=id_field)
        bad: list[BadRecord] = []

        def good() -> Iterable[Document]:
            for path in paths:
                for record in read_documents(Path(path), fields):
                    if isinstance(record, BadRecord):
                        bad.append(record)
                    else:
                        yield record

        return replace(self.add_documents(good(), progress), bad=tuple(bad))

    def add_documents(self, documents: Iterable[Document], progress: Progress | None = None) -> Added:
        """Add documents from a program."""
        own_unit = 0

        def counted() -> Iterable[Document]:
            nonlocal own_unit
            for document in documents:
                own_unit += document.own_unit
                yield document

        done = None if progress is None else lambda count: progress("documents", count)
        counts = self.corpus.index(counted(), progress=done)
        return Added(counts.added, counts.replaced, counts.unchanged, own_unit, (), tuple(counts.conflicts))

    def remove(self, document_id: str) -> int:
        """Erase a document; it is gone from answers at once. Returns how many were erased: 0 or 1."""
        return self.store.remove(document_id)

    def remove_unit(self, unit: str) -> int:
        """Erase all documents of an individual. Returns how many there were."""
        return self.store.remove_unit(unit)

    def ask(
        self,
        question: str,
        algorithm: Algorithm | None = None,
        *,
        not_private: bool = False,
    ) -> Answer:
        """Answer a question, and pay for it.

        Args:
            question: the question.
            algorithm: how to answer it; `DPSparseVoteRAG()` if not given.
            not_private: must be true for the baselines that have no guarantee.

        Raises:
            UsageError: an empty question, or a baseline without `not_private`.
            BudgetExhausted: the budget cannot pay. Nothing was released or charged.
            Interrupted: Ctrl-C; what was paid stays paid.
        """
        algorithm = algorithm or DPSparseVoteRAG()
        question = _checked(question)
        if not (algorithm.private or not_private):
            raise UsageError(
                f"'{algorithm.name}' gives no guarantee: its answer may repeat any document. It is refused unless "
                "you say so: --not-private (in Python: not_private=True)."
            )
        question_id = uuid.uuid4().hex
        ceiling = self._affordable(algorithm)
        self.ledger.begin(question_id, algorithm.name, question, private=algorithm.private)
        answer = self._answer(question_id, question, algorithm, ceiling, self.ledger, None)
        self.ledger.finish(question_id, answer.stopped)
        return replace(answer, remaining=self.ledger.budget.left(self.ledger.spent()))

    def simulate(
        self, question: str, algorithm: Algorithm, *, noise: Noise | None = None, model: LanguageModel | None = None
    ) -> Answer:
        """Answer as `ask` would in a vault with budget enough, without paying. For the custodian's eyes only.

        Args:
            question: the question.
            algorithm: how to answer it.
            noise: may be seeded, since nothing is released.
            model: in place of the vault's.
        """
        plan = algorithm.plan(self.settings.delta, (model or self.model).vocabulary_size)
        ceiling = plan.ceiling if plan else Budget(1.0, self.settings.delta)
        ledger = MemoryLedger(ceiling, simulation=True)
        return self._answer(secrets.token_hex(8), _checked(question), algorithm, ceiling, ledger, noise, model)

    def budget(self) -> BudgetReport:
        """What was granted, spent and is left."""
        spending, budget = self.ledger.spent(), self.ledger.budget
        return BudgetReport(
            granted=budget.epsilon,
            delta=budget.delta,
            spent=budget.spent(spending),
            left=budget.left(spending),
            unit=self.settings.unit_field,
            questions=tuple(self.ledger.questions()),
        )

    def _answer(
        self,
        question_id: str,
        question: str,
        algorithm: Algorithm,
        ceiling: Budget,
        ledger: Ledger,
        noise: Noise | None,
        model: LanguageModel | None = None,
    ) -> Answer:
        kind = PrivacyFilter if algorithm.private else NotPrivateFilter
        privacy = kind(ledger, ceiling, question_id, unit=self.settings.unit_field, noise=noise)
        draft = None
        try:
            # Suppressed rather than chained: the frames of an interruption hold private values.
            with suppress(KeyboardInterrupt):
                draft = algorithm.answer(question, self.corpus, model or self.model, privacy)
        except BudgetExhausted as refusal:  # another process spent, in the middle of this answer, what it needed
            paid = privacy.receipt().epsilon
            raise BudgetExhausted(
                f"Another question used up the budget in the middle of this one. What was paid stays paid: epsilon "
                f"{paid:.4g}. No answer was released; {refusal.left:.4g} is left.",
                asked=refusal.asked,
                left=refusal.left,
            ) from None
        if draft is None:
            raise Interrupted(privacy.receipt().epsilon)
        return Answer(**asdict(draft), algorithm=algorithm.name, receipt=privacy.receipt())

    def _affordable(self, algorithm: Algorithm) -> Budget:
        """The question's ceiling, if the vault can pay all of it."""
        plan = algorithm.plan(self.settings.delta, self.model.vocabulary_size)
        if plan is None:
            return Budget(1.0, self.settings.delta)
        if plan.ceiling.delta > self.settings.delta:
            raise UsageError(
                f"The question's delta, {plan.ceiling.delta:g}, is above the vault's, {self.settings.delta:g}."
            )
        spent, budget = self.ledger.spent(), self.ledger.budget
        if not budget.admits(spent + plan.most):
            left, fit = budget.left(spent), self._would_fit(algorithm)
            advice = (
                f"A question of epsilon {fit:.3g} would fit." if fit else "No question fits any more; non-rag is free."
            )
            asked = getattr(algorithm, "epsilon", math.nan)
            raise BudgetExhausted(
                f"The budget cannot pay: epsilon {asked:.4g} was asked, {left:.4g} of {budget.epsilon:.4g} is left. "
                f"Nothing was released or charged. {advice}",
                asked=asked,
                left=left,
                would_fit=fit,
            )
        return plan.ceiling

    def _would_fit(self, algorithm: Algorithm) -> float:
        """The largest epsilon of such a question that the vault can still pay; 0 if below a hundredth."""
        if not isinstance(algorithm, Voting):
            return 0.0
        spent, budget = self.ledger.spent(), self.ledger.budget

        def fits(epsilon: float) -> bool:
            smaller = replace(algorithm, epsilon=epsilon, epsilon_token=None)
            plan: Plan = smaller.plan(self.settings.delta, self.model.vocabulary_size)
            return budget.admits(spent + plan.most)

        smallest = 0.01
        if not fits(smallest):
            return 0.0
        # Rounded down to what the message shows, so that asking for it succeeds.
        return math.floor(largest(fits, smallest, algorithm.epsilon) * 100) / 100


def _checked(question: str) -> str:
    question = question.strip()
    if not question:
        raise UsageError("The question is empty. Ask something in words.")
    return question
