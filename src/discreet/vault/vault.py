"""A vault: a folder with documents about people, and a ledger of what has been told about them.

VAULT/vault.json      the settings, fixed when the vault is made
VAULT/units.key       the secret from which units get their names in the ledger
VAULT/store/          texts and vectors
VAULT/ledger.sqlite   the grant, and every charge against it (or in a PostgreSQL database)
VAULT/history.jsonl   released answers
VAULT/counter.json    how far the ledger was, so that an older one is noticed (`ledger.counter`)
VAULT/restored.json   of which backup the vault was made, if of one (`operations.restore`)
VAULT/public.jsonl    a copy of the public corpus, if one was named; its vectors in public.npz
VAULT/synthesis/      what a synthetic corpus is made from (`synthesis`); of simulations in synthesis-simulated/
VAULT/exports/        whose row is which in exported vectors (`export`)
VAULT/claims/         what baselines on projected vectors keep (`baselines.projected`)
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self, Unpack

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.common.answer import Answer
from discreet.algorithms.common.ensemble import check_number
from discreet.algorithms.consensus import Consensus
from discreet.algorithms.murag_ada import MuRAGAda
from discreet.baselines.rag import RAG
from discreet.config import DEFAULT_STORE, VERSION, VaultConfig, converted, read_config, write_config
from discreet.errors import UsageError
from discreet.export.vectors import FOLDER, Export, Exported, Source, export_vectors
from discreet.generation.capabilities import require_scores
from discreet.generation.model import LanguageModel
from discreet.ledger.opening import open_ledger
from discreet.planning.empty_mark import no_longer_empty
from discreet.planning.grants import check_people
from discreet.planning.prices import FAILURE_SHARE
from discreet.privacy.filter import Receipt
from discreet.privacy.ledger import UnitLedger
from discreet.privacy.noise import Noise
from discreet.query.answer_cache import AnswerCache
from discreet.query.latency import at_a_multiple
from discreet.query.odometer import Odometer
from discreet.query.pipeline import AskOptions, QueryPipeline, Simulation
from discreet.query.threshold_tuning import Tuning, release_threshold
from discreet.reading.fields import check_types
from discreet.reading.files import FoundFile
from discreet.reading.intake import Intake
from discreet.retrieval.documents import Document
from discreet.retrieval.public import PublicTexts
from discreet.retrieval.store_registry import count_units
from discreet.synthesis.base import SynthesisAlgorithm
from discreet.synthesis.dp_synrag.parameters import DPSynRAG
from discreet.synthesis.runner import SynthesisRunner, Synthetic, Told, check_finished, make_corpus
from discreet.system.turns import taking_turns
from discreet.vault.budget_report import BudgetReport, report
from discreet.vault.components import VaultComponents
from discreet.vault.derived_data import SIMULATED, SYNTHESIS
from discreet.vault.ingestion import Added, How, Progress, add_documents, add_files, open_intake
from discreet.vault.provisioning import make_folder


@taking_turns(but=("ask",))
class Vault(VaultComponents):
    """A collection of documents that answers questions, and keeps account of it.

    Several threads may call its methods. One is inside at a time, and the others wait for it: also while another
    answers, adds or synthesizes. Its parts (`store`, `corpus`, `model`) are for one thread alone.
    """

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
        fields: Mapping[str, str] | None = None,
        people: int = 0,
        store: str = DEFAULT_STORE,
    ) -> Self:
        """Make a vault. Its budget is fixed for good.

        Any epsilon and delta in range are taken: for experiments. Whether a grant is worth making a vault with, says
        `planning.grants.check_grant`, which `discreet init` asks first.

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
            accept_claims: whether algorithms may run whose published bounds are no guarantee (docs/privacy-details.md).
            fields: what is kept with each document beside its text, by name: "date", "category" or "number". It is as
                private as the text.
            people: about how many units the vault will hold: public, declared; 0 if that is not said.
            store: what keeps the documents: the built-in store, or a plug-in's, by name.

        Raises:
            UsageError: epsilon, delta or people is no such number, a field is of no known type, or something is at
                `path`.
        """
        path = Path(path)
        check_number("epsilon", epsilon)
        if people:
            check_people(people)
        name = f"vault_{secrets.token_hex(8)}" if ledger else ""
        settings = VaultConfig(
            VERSION, epsilon, delta, unit_field, model, embedder, log_questions, payment, history, ledger, name
        )
        typed = check_types(fields or {}, unit_field)
        settings = replace(settings, accept_claims=accept_claims, fields=typed, people=people, store=store)
        make_folder(path, settings, FAILURE_SHARE)
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a vault.

        Raises:
            NoSuchVault, VaultVersionError, LedgerError: it is not there, not of this version, or not sound.
        """
        path = Path(path)
        settings = read_config(path)
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
        self.renew(write_config(self.path, converted(self.settings)))

    def add(self, *paths: str | Path, progress: Progress | None = None, **how: Unpack[How]) -> Added:
        """Read documents from files and folders; add what is new, replace what changed.

        Everything is looked through first: what is refused as a whole is refused before anything is written. Safe to
        interrupt and run again. Single records that cannot be read are reported, and the rest is added.

        Args:
            paths: files and folders.
            progress: told how many documents are done.
            how: the fields of records, how files get their units, and how files are read: see `adding.How`.

        Raises:
            UsageError, BadData: a path is not there, units are not named, or a field is in no record.
            StoreError: the store cannot be written (a full disk). What was added stays.
        """
        return self.take_in(self.intake(*paths, **how), progress)

    def intake(self, *paths: str | Path | FoundFile, **how: Unpack[How]) -> Intake:
        """Find what `add` would add: `.preview` tells how much of whom, `take_in` adds it. Loads no model.

        Raises:
            UsageError, BadData: as `add`.
        """
        return open_intake(paths, how, self.settings)

    def take_in(self, intake: Intake, progress: Progress | None = None) -> Added:
        """Add what was found, after a look at `intake.preview`."""
        _ = intake.preview  # what is refused is refused before the embedder is loaded
        added = self.traces.adding(lambda: add_files(self.corpus, self.store, intake, progress))
        no_longer_empty(self.path)
        return added

    def add_documents(self, documents: Iterable[Document], progress: Progress | None = None) -> Added:
        """Add documents from a program."""
        added = self.traces.adding(lambda: add_documents(self.corpus, documents, progress))
        no_longer_empty(self.path)
        return added

    def remove(self, document_id: str) -> int:
        """Erase a document; it is gone from answers at once. Returns how many were erased: 0 or 1."""
        with self.traces.erasing():
            return self.store.remove(document_id)

    def remove_unit(self, unit: str) -> int:
        """Erase all documents of an individual, for good: later additions of it are refused (`inventory.readmit`).

        Returns how many documents there were.
        """
        return self.inventory.bury(unit)

    def workshop(self, noise: Noise | None = None, ledger: UnitLedger | None = None) -> SynthesisRunner:
        """What it takes to make a synthetic corpus: `workshop().plan(...)`, `workshop().make(...)`.

        Args:
            noise: may be seeded if `ledger` is a simulation.
            ledger: in place of the vault's; the files of a simulation are apart from those of a real run.
        """
        return SynthesisRunner(
            self.path / (SYNTHESIS if ledger is None else SIMULATED),
            self.store,
            require_scores(self.model, "synthesize"),
            ledger or self.ledger,
            self.secret,
            self.settings.unit_field,
            self.embedder,
            noise,
        )

    def synthesize(
        self,
        out: str | Path,
        parameters: SynthesisAlgorithm[Any] | None = None,
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
            ray: the address of a Ray cluster (generation/ray_backend) whose workers run the model; none if None.

        Raises:
            UsageError, BudgetExhausted, BadData: nothing can be written there; not everybody has so much left; there
                are too few documents. Nothing was paid, unless the error says so: a task that drops every text, a
                question that was asked meanwhile and left too little.
        """
        wanted = parameters or DPSynRAG()
        try:
            return make_corpus(self.workshop(), Path(out), wanted, only_new=only_new, force=force, told=told, ray=ray)
        finally:
            self.ledger.note()

    def export_vectors(self, out: str | Path, wanted: Export, *, force: bool = False) -> Exported:
        """Write a projected vector for each unit, with noise, and have everybody pay: see `export.vectors`."""
        embedder = (self.embedder.name, self.embedder.dimension)
        source = Source(self.path / FOLDER, self.store, self.ledger, self.secret, self.settings.unit_field, embedder)
        return export_vectors(source, Path(out), wanted, force=force)

    def ask(
        self,
        question: str,
        algorithm: Algorithm | None = None,
        *,
        not_private: bool = False,
        reuse: bool = True,
        anew: bool = False,
        public: bool = True,
        quantum: float = 0.0,
        question_id: str = "",
    ) -> Answer:
        """Answer a question, and pay for it; a question that was asked before costs nothing.

        The same question asked at the same time, anywhere on the ledger, is paid once: the others wait for its release.
        A yes/no question becomes a choice: yes, no, or not said (`query.yes_no`).

        Args:
            question: the question.
            algorithm: how to answer it; `default_algorithm()` if not given.
            not_private: must be true for the baselines that have no guarantee.
            reuse: whether answers that were released before may be used, to this question and to related ones.
            anew: whether to pay again for a question that was asked before.
            public: whether the public prompt may read the public corpus, if the vault has named one.
            quantum: seconds. The answer, or the refusal, comes at a multiple of it; at once if 0 (`query.latency`).
            question_id: the question's id in the ledger, of 32 hexadecimal digits; a new one if empty.

        Raises:
            UsageError, BadData, BudgetExhausted: a question that is empty or too long, or a baseline without
                `not_private`; a damaged copy of the public corpus; no budget. Nothing was released or charged.
            Interrupted: Ctrl-C; what was paid stays paid.
        """
        with at_a_multiple(quantum):
            return self._ask(question, algorithm, AskOptions(not_private, reuse, anew, public, question_id))

    def _ask(self, question: str, algorithm: Algorithm | None, options: AskOptions) -> Answer:
        return self.pipeline.run(question, algorithm or self.default_algorithm(), options)

    def price(self, question: str, algorithm: Algorithm | None = None, *, reuse: bool = True) -> float:
        """The most that a question may cost a unit, epsilon: public. 0 if its answer is free. Loads no model.

        Raises:
            UsageError, BudgetExhausted: as `ask` does, for the same reasons.
        """
        return self.pipeline.price(question, algorithm or self.default_algorithm(), AskOptions(reuse=reuse))

    @cached_property
    def pipeline(self) -> QueryPipeline:
        """What a question goes through, from its text to an answer with a receipt."""
        return QueryPipeline(self)

    @property
    def odometer(self) -> Odometer:
        """What the questions that this object asked may have cost any one unit at most: public."""
        return self.pipeline.odometer

    def ask_corpus(self, question: str, corpus: str | Path, *, max_tokens: int = 32, prefix: str = "") -> Answer:
        """Answer from a synthetic corpus with this vault's model and embedder: for nothing, as often as you like.

        Raises:
            BadData: the file cannot be read as a corpus.
        """
        texts = PublicTexts.read(Path(corpus), self.embedder)
        return self.pipeline.read_texts(question, texts, RAG(max_tokens=max_tokens, prefix=prefix))

    def simulate(
        self,
        question: str,
        algorithm: Algorithm,
        *,
        noise: Noise | None = None,
        model: LanguageModel | None = None,
        ledger: UnitLedger | None = None,
        history: AnswerCache | None = None,
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
        return self.pipeline.simulate(question, algorithm, Simulation(noise, model, ledger, history, public))

    def default_algorithm(self) -> Algorithm:
        """How a question is answered if nothing else is said."""
        return MuRAGAda() if self.settings.payment == "unit" else Consensus()

    def budget(self) -> BudgetReport:
        """What was granted, spent and is left: for the custodian."""
        units = partial(count_units, self.settings, self.path / "store")
        return report(self.ledger, self.default_algorithm(), self.settings.unit_field, units)

    def tune(self, questions: Sequence[str], tuning: Tuning | None = None) -> tuple[float, Receipt]:
        """A threshold of similarity for `MuRAG`, released privately from public questions, and what it cost.

        Raises:
            UsageError: everybody pays in this vault, or there is no question.
            BudgetExhausted: everybody has less left than it costs.
            Interrupted: Ctrl-C; what was paid stays paid.
        """
        return release_threshold(tuning or Tuning(), questions, self.corpus, self.ledger, self.settings)
