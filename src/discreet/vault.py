"""A vault: a folder with documents about people, and a ledger of what has been told about them.

VAULT/vault.json      the settings, fixed when the vault is made
VAULT/units.key       the secret from which units get their names in the ledger
VAULT/store/          texts and vectors
VAULT/ledger.sqlite   the grant, and every charge against it (or in a PostgreSQL database)
VAULT/history.jsonl   released answers
VAULT/public.jsonl    a copy of the public corpus, if one was named; its vectors in public.npz
VAULT/synthesis/      what a synthetic corpus is made from (`synthesis`); of simulations in synthesis-simulated/
VAULT/exports/        whose row is which in exported vectors (`exporting`)
VAULT/claims/         what baselines on projected vectors keep (`algorithms.projected`)
"""

import secrets
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from discreet.adding import Added, Progress, add_documents, add_files
from discreet.affording import affordable, enough
from discreet.algorithms.answer import Algorithm, Answer
from discreet.algorithms.consensus import Consensus
from discreet.algorithms.dp_synrag.parameters import DPSynRAG
from discreet.algorithms.ensemble import check_number
from discreet.algorithms.multi import ManyQuestions
from discreet.algorithms.murag_ada import MuRAGAda
from discreet.algorithms.rag import RAG
from discreet.algorithms.synthetic import Method
from discreet.algorithms.tuning import Tuning
from discreet.asking import (
    NEW,
    Asked,
    answer,
    check_allowed,
    check_fits,
    checked,
    from_public_texts,
    kept_answer,
    payable,
    public_record,
    recall,
    release_threshold,
    remembered,
)
from discreet.balance import ANY_VOCABULARY, BudgetReport, report
from discreet.errors import UsageError
from discreet.exporting import FOLDER, Export, Exported, Source, export_vectors
from discreet.generation.model import LanguageModel
from discreet.history import History
from discreet.keeping import make_folder, open_ledger
from discreet.parts import Parts
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import Receipt
from discreet.privacy.ledger import MemoryLedger, UnitLedger
from discreet.privacy.noise import Noise
from discreet.retrieval.documents import Document
from discreet.retrieval.loading import Fields
from discreet.retrieval.public import PublicTexts
from discreet.settings import VERSION, Settings, converted, read_settings, write_settings
from discreet.synthesis import Synthetic, Told, Workshop, check_finished, make_corpus
from discreet.traces import SIMULATED, SYNTHESIS
from discreet.waiting import at_a_multiple

# Of the vault's delta, this part is for failure probabilities, the rest for converting Renyi curves.
FAILURE_SHARE = 0.5


class Vault(Parts):
    """A collection of documents that answers questions, and keeps account of it."""

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
        payment: str = "unit",
        history: bool = True,
        ledger: str = "",
        accept_claims: bool = False,
    ) -> Self:
        """Make a vault. Its budget is fixed for good.

        Args:
            path: a new folder.
            epsilon: what all answers together may reveal about any one unit.
            delta: the probability of revealing more.
            unit_field: the field of a record that names the individual it is about.
            model: the language model, by name or path.
            embedder: the embedder, by name or path.
            log_questions: whether the ledger keeps the text of questions.
            payment: "unit" (those pay whose documents a question could have used) or "corpus" (everybody does).
            history: whether released answers are kept, with their questions, to be used again.
            ledger: "postgresql://user@host/database" to keep the ledger there, where several machines can share it;
                a file in the vault if empty. No password: it comes from where PostgreSQL's clients look for one.
            accept_claims: whether algorithms may run whose published bounds are no guarantee (docs/privacy.md).

        Raises:
            UsageError: epsilon or delta is no such number, or something is already at `path`.
        """
        path = Path(path)
        check_number("epsilon", epsilon)
        name = f"vault_{secrets.token_hex(8)}" if ledger else ""
        settings = Settings(
            VERSION, epsilon, delta, unit_field, model, embedder, log_questions, payment, history, ledger, name
        )
        make_folder(path, replace(settings, accept_claims=accept_claims), FAILURE_SHARE)
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a vault.

        Raises:
            NoSuchVault, VaultVersionError, LedgerError: it is not there, not of this version, or not sound.
        """
        path = Path(path)
        settings = read_settings(path)
        return cls(path, settings, open_ledger(path, settings))

    def convert(self) -> None:
        """Let units pay by themselves from now on, in a vault in which everybody paid. Cannot be taken back.

        What everybody has paid stays paid by everybody, those included who join later.

        Raises:
            UsageError: units pay by themselves already, or a synthesis that everybody paid for is not finished.
        """
        if self.settings.payment == "unit":
            raise UsageError(f"In the vault at {self.path} units pay by themselves already. There is nothing to do.")
        check_finished(self.path / SYNTHESIS)
        self.renew(write_settings(self.path, converted(self.settings)))

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
        return self.traces.adding(lambda: add_files(self.corpus, [Path(path) for path in paths], fields, progress))

    def add_documents(self, documents: Iterable[Document], progress: Progress | None = None) -> Added:
        """Add documents from a program."""
        return self.traces.adding(lambda: add_documents(self.corpus, documents, progress))

    def remove(self, document_id: str) -> int:
        """Erase a document; it is gone from answers at once. Returns how many were erased: 0 or 1."""
        with self.traces.erasing():
            return self.store.remove(document_id)

    def remove_unit(self, unit: str) -> int:
        """Erase all documents of an individual. Returns how many there were."""
        with self.traces.erasing():
            return self.store.remove_unit(unit)

    def workshop(self, noise: Noise | None = None, ledger: UnitLedger | None = None) -> Workshop:
        """What it takes to make a synthetic corpus: `workshop().plan(...)`, `workshop().make(...)`.

        Args:
            noise: may be seeded if `ledger` is a simulation.
            ledger: in place of the vault's; the files of a simulation are apart from those of a real run.
        """
        return Workshop(
            self.path / (SYNTHESIS if ledger is None else SIMULATED),
            self.store,
            self.model,
            ledger or self.ledger,
            self.secret,
            self.settings.unit_field,
            self.embedder,
            noise,
        )

    def synthesize(
        self,
        out: str | Path,
        parameters: Method[Any] | None = None,
        *,
        only_new: bool = False,
        force: bool = False,
        told: Told = lambda *_: None,
        ray: str | None = None,
    ) -> Synthetic:
        """Make a synthetic corpus, to be asked for ever, and pay for it once.

        Safe to interrupt and run again: it goes on, and is paid once.

        Args:
            out: the file; its receipt is written beside it.
            parameters: the method, and what is wanted of it: DP-SynRAG's defaults if None.
            only_new: only from documents that the last corpus was not made from.
            force: whether `out` may be written over.
            told: told (the step, how much is done, of how much).
            ray: the address of a Ray cluster (generation/spread.py) whose workers run the model; none if None.

        Raises:
            UsageError, BudgetExhausted, BadData: nothing can be written there; not everybody has so much left; there
                are too few documents. Nothing was paid, unless the error says so: a task that drops every text, a
                question that was asked meanwhile and left too little.
        """
        wanted = parameters or DPSynRAG()
        return make_corpus(self.workshop(), Path(out), wanted, only_new=only_new, force=force, told=told, ray=ray)

    def export_vectors(self, out: str | Path, wanted: Export, *, force: bool = False) -> Exported:
        """Write a projected vector for each unit, with noise, and have everybody pay: see `exporting`."""
        embedder = (self.embedder.name, self.embedder.dimension)
        source = Source(self.path / FOLDER, self.store, self.ledger, self.secret, self.settings.unit_field, embedder)
        return export_vectors(source, Path(out), wanted, force=force)

    def ask(
        self,
        question: str,
        algorithm: Algorithm | ManyQuestions | None = None,
        *,
        not_private: bool = False,
        reuse: bool = True,
        public: bool = True,
        quantum: float = 0.0,
    ) -> Answer:
        """Answer a question, and pay for it; a question that was answered before costs nothing.

        Args:
            question: the question.
            algorithm: how to answer it; `default_algorithm()` if not given.
            not_private: must be true for the baselines that have no guarantee.
            reuse: whether answers that were released before may be used.
            public: whether the public prompt may read the public corpus, if the vault has named one.
            quantum: seconds. The answer, or the refusal, comes at a multiple of it; at once if 0 (`waiting`).

        Raises:
            UsageError, BadData, BudgetExhausted: a question that is empty or too long, or a baseline without
                `not_private`; a damaged copy of the public corpus; no budget. Nothing was released or charged.
            Interrupted: Ctrl-C; what was paid stays paid.
        """
        with at_a_multiple(quantum):
            return self._ask(question, algorithm, not_private=not_private, reuse=reuse, public=public)

    def _ask(
        self,
        question: str,
        algorithm: Algorithm | ManyQuestions | None,
        *,
        not_private: bool,
        reuse: bool,
        public: bool,
    ) -> Answer:
        named = algorithm or self.default_algorithm()
        algorithm = payable(named, self.settings, self.path)
        question = checked(question)
        check_allowed(algorithm, not_private)
        costs = algorithm.private and algorithm.plan(self.ledger.budget, ANY_VOCABULARY) is not None
        known, related = recall(self.history, question, algorithm) if reuse and self.settings.history and costs else NEW
        if known is not None:
            return replace(kept_answer(known, self.settings.unit_field), remaining=self._left())
        texts = self.public_context.texts if public and costs else None
        corpus = self.corpus.knowing(public_record(related, texts, question))
        asked = Asked(uuid.uuid4().hex, question, named.name, algorithm, self._ceiling(algorithm))
        check_fits(algorithm, question, self.model)
        self.ledger.begin(asked.id, named.name, question, private=algorithm.private)
        answered = answer(asked, corpus, self.model, self.ledger, unit=self.settings.unit_field)
        self.ledger.finish(asked.id, answered.stopped)
        # What the model says without documents is no answer of the vault's; the same question may fare better later.
        if self.settings.history and costs and answered.stopped != "public":
            answered = remembered(self.history, question, algorithm, answered)
        used = texts.digest if texts else ""
        receipt = answered.receipt and replace(answered.receipt, reused=len(related), public_corpus=used)
        return replace(answered, remaining=self._left(), receipt=receipt)

    def _ceiling(self, algorithm: Algorithm | ManyQuestions) -> Budget:
        return affordable(algorithm, self.ledger.budget, self.ledger.spent(), self.model.vocabulary_size)

    def _left(self) -> float:
        return self.ledger.budget.left(self.ledger.spent())

    def ask_corpus(self, question: str, corpus: str | Path, *, max_tokens: int = 32, prefix: str = "") -> Answer:
        """Answer from a synthetic corpus with this vault's model and embedder: for nothing, as often as you like.

        Raises:
            BadData: the file cannot be read as a corpus.
        """
        asked, reader = checked(question), RAG(max_tokens=max_tokens, prefix=prefix)
        texts, unit = PublicTexts.read(Path(corpus), self.embedder), self.settings.unit_field
        return from_public_texts(asked, texts, reader, self.model, unit=unit, remaining=self._left())

    def simulate(
        self,
        question: str,
        algorithm: Algorithm | ManyQuestions,
        *,
        noise: Noise | None = None,
        model: LanguageModel | None = None,
        ledger: UnitLedger | None = None,
        history: History | None = None,
        public: PublicTexts | None = None,
    ) -> Answer:
        """Answer as `ask` would, without paying. For the custodian's eyes only.

        Args:
            question: the question.
            algorithm: how to answer it.
            noise: may be seeded, since nothing is released.
            model: in place of the vault's.
            ledger: one marked as a simulation, to pay into; if not given, one with budget enough.
            history: the answers released before in the simulation, to use again and to add to.
            public: what the public prompt may read, `public_context.texts` or another corpus; nothing if not given.
        """
        model = model or self.model
        known, related = recall(history, question, algorithm) if history else NEW
        if known is not None:
            return kept_answer(known, self.settings.unit_field)
        plan = algorithm.plan(ledger.budget if ledger else self.ledger.budget, model.vocabulary_size)
        ceiling = plan.ceiling if plan else Budget(1.0, self.settings.delta)
        if ledger is None:
            ledger = MemoryLedger(enough(algorithm, ceiling, self.ledger.budget), simulation=True)
        asked = Asked(secrets.token_hex(8), checked(question), algorithm.name, algorithm, ceiling)
        check_fits(algorithm, asked.question, model)
        corpus = self.corpus.knowing(public_record(related, public, question))
        answered = answer(asked, corpus, model, ledger, unit=self.settings.unit_field, noise=noise)
        if history and answered.stopped != "public":
            return remembered(history, question, algorithm, answered)
        return answered

    def default_algorithm(self) -> Algorithm | ManyQuestions:
        """How a question is answered if nothing else is said."""
        return MuRAGAda() if self.settings.payment == "unit" else Consensus()

    def budget(self) -> BudgetReport:
        """What was granted, spent and is left: for the custodian."""
        return report(self.ledger, self.default_algorithm(), self.settings.unit_field, self.path / "store")

    def tune(self, questions: Sequence[str], tuning: Tuning | None = None) -> tuple[float, Receipt]:
        """A threshold of similarity for `MuRAG`, released privately from public questions, and what it cost.

        Raises:
            UsageError: everybody pays in this vault, or there is no question.
            BudgetExhausted: everybody has less left than it costs.
            Interrupted: Ctrl-C; what was paid stays paid.
        """
        return release_threshold(tuning or Tuning(), questions, self.corpus, self.ledger, self.settings)
