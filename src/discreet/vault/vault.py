"""A vault: a folder with documents about individuals, and a ledger of the privacy loss of every release."""

import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from discreet.algorithms.base import Algorithm, Answer
from discreet.algorithms.consensus import Consensus, names_attribute
from discreet.algorithms.ensemble import check_number
from discreet.algorithms.murag import MuRAGAda
from discreet.algorithms.retrieval import vote_by_readings
from discreet.baselines import RAG
from discreet.config import DEFAULT_STORE, FORMAT, VaultConfig, read_config, write_config
from discreet.errors import DiscreetError, StoreError, UsageError
from discreet.export import Export, Exported, export_vectors
from discreet.files.fields import check_types
from discreet.models.loading import PACKAGED, is_plugin_model
from discreet.models.protocol import VotingModel
from discreet.planning.checks import check_people, check_spelling
from discreet.planning.prices import EMPTY, FAILURE_SHARE, usual_algorithm
from discreet.plugins import EMBEDDERS as PLUGGED_EMBEDDERS
from discreet.plugins import MODELS, find_names
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import Receipt, UnitLedger
from discreet.privacy.noise import Noise
from discreet.query.admission import Odometer
from discreet.query.answer_cache import AnswerCache, said
from discreet.query.execution import at_a_multiple
from discreet.query.pipeline import AskOptions, Price, QueryPipeline
from discreet.query.public_context import check_hears
from discreet.query.recall import check_sample, widen_answer
from discreet.query.threshold_tuning import Tuning, release_threshold
from discreet.questions.marks import check_labels
from discreet.questions.request import FACT, Request, is_request, parse_request
from discreet.questions.router import Decision, Router
from discreet.questions.vocabulary import Synonyms
from discreet.statistics.labelled import LabelledSample
from discreet.statistics.statistic import Statistic
from discreet.store.embedding import EMBEDDERS, Embedder
from discreet.store.protocol import Store
from discreet.store.public import PublicTexts
from discreet.store.registry import is_address, store_type_of
from discreet.synthesis.base import SynthesisAlgorithm
from discreet.synthesis.dp_synrag import DPSynRAG
from discreet.synthesis.runner import SynthesisRunner, Synthetic, Told, make_corpus
from discreet.system.databases import taking_turns
from discreet.system.progress import by_steps
from discreet.vault.budget_report import BudgetReport, report
from discreet.vault.components import VaultComponents
from discreet.vault.documents import VaultDocuments
from discreet.vault.reading import VaultReading


def make_folder(path: Path, settings: VaultConfig, failure_share: float) -> None:
    """Make the folder of a vault, with an empty store and a new ledger.

    Raises:
        UsageError: if the configuration is invalid, if `path` is not empty, or if the name of a model is misspelt.
        StoreError: if the folder cannot be written.
    """
    check_number("epsilon", settings.epsilon)
    if settings.people:
        check_people(settings.people)
    settings = replace(settings, fields=check_types(settings.fields, settings.unit_field))
    check_labels(settings.fields, settings.unit_field)
    if not settings.unit_field.strip():
        raise UsageError("The name of the unit field is empty. Name the field of the individual, such as 'patient'.")
    from discreet.ledger.ledger import create_ledger  # its library takes 0.2 seconds to import

    if not is_plugin_model(settings.model):
        check_spelling("language model", settings.model, [PACKAGED, *find_names(MODELS)])
    check_spelling("embedder", settings.embedder, [*EMBEDDERS, *find_names(PLUGGED_EMBEDDERS)])
    store = store_type_of(settings)
    if not 0 < settings.delta < 1:
        raise UsageError(f"Delta is {settings.delta}. Expected: a probability between 0 and 1, such as 1e-6.")
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UsageError(f"There is already something at {path}. Choose a new folder for the vault.")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Made beside `path` and renamed: after a crash there is a whole vault or none.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".vault-") as temporary:
            folder = Path(temporary) / "vault"
            folder.mkdir(mode=0o700)
            (folder / "store").mkdir()
            (folder / EMPTY).touch()
            settings = write_config(folder, settings)
            grant = Budget(settings.epsilon, settings.delta, failure_share * settings.delta)
            with _made(store):
                create_ledger(folder, settings, grant)
                os.replace(folder, path)
    except OSError as error:
        raise StoreError(f"The vault could not be made at {path}: {error.strerror}.") from error


def change_settings(
    path: Path, fields: Mapping[str, str], model: str = "", synonyms: Synonyms | None = None
) -> VaultConfig:
    """Declare more fields in a vault, name another model, or replace the synonyms. Return the settings.

    The settings are public, and no document has any influence on them. The ledger, the balances and what was released
    stay. A record gets a value of the field when it is added again: then it is another record, and replaces the first.

    Args:
        path: the folder of the vault.
        fields: the types of the new fields, by name.
        model: the model; empty for the same.
        synonyms: the other words for things (`parse_synonyms`); None for the same.

    Raises:
        UsageError: if a field was declared before. Nothing was changed.
    """
    settings = read_config(path)
    if again := [name for name in fields if name in settings.fields]:
        raise UsageError(
            f"The field '{again[0]}' is declared as {settings.fields[again[0]]}, which stays: its values were added as "
            "such. Declare a field of another name. Nothing was changed."
        )
    if model and not is_plugin_model(model):
        check_spelling("language model", model, [PACKAGED, *find_names(MODELS)])
    check_labels(fields, settings.unit_field)
    fields = check_types({**settings.fields, **fields}, settings.unit_field)
    words = settings.synonyms if synonyms is None else {name: list(others) for name, others in synonyms.items()}
    return write_config(path, replace(settings, fields=fields, model=model or settings.model, synonyms=words))


@contextmanager
def _made(store: Any) -> Iterator[None]:
    """Make a store in a database. If the block fails, remove it."""
    if not hasattr(store, "make"):  # a store in the vault's folder is made with the first document
        yield
        return
    store.make()
    try:
        yield
    except BaseException:
        with suppress(DiscreetError):
            store.drop()
        raise


@taking_turns(but=("ask",))
class Vault(VaultDocuments, VaultReading):
    """A folder of documents that answers questions, and charges each answer to its ledger.

    Several threads may call its methods. One thread is inside at a time, and the others wait, also while that thread
    answers, adds or synthesizes. The parts of a vault (`store`, `corpus`, `model`) are for one thread alone.

    Attributes:
        components: the parts of the vault, built at first use.
        turn: the lock of the thread that is inside.
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
        """Make a vault, and open it. Its grant cannot be changed later.

        Every valid epsilon and delta is accepted, for experiments. `discreet init` first calls
        `planning.checks.check_grant`, which refuses a grant that pays for too little.

        Args:
            path: a new folder.
            epsilon: the bound on what all answers together may reveal about any one unit.
            delta: the probability of revealing more.
            unit_field: the field of a record that names its individual.
            model: the language model, by name or path.
            embedder: the embedder, by name or path.
            log_questions: whether the ledger keeps the text of questions.
            payment: "unit" (the units pay whose documents a question could have used) or "corpus" (all units pay).
            history: whether released answers are kept with their questions, and used again.
            ledger: "postgresql://user@host/database" for a ledger that several machines share; a file in the vault if
                empty. The URL holds no password: PostgreSQL's clients read it from PGPASSWORD or .pgpass.
            accept_claims: whether algorithms may run whose published bounds are no guarantee (docs/privacy-details.md).
            fields: the type of each field that is kept with a document: "date", "category" or "number", by name. The
                values are as private as the text.
            people: the approximate number of units, declared and public; 0 if it is not declared.
            store: the store of the documents: "postgresql://user@host/database", an address of a plug-in, or a name:
                the built-in one or a plug-in's.

        Raises:
            UsageError: if epsilon, delta or people is out of range, if the type of a field is unknown, or if `path`
                is not empty.
        """
        name, store_name = (f"{kind}_{secrets.token_hex(8)}" for kind in ("vault", "store"))
        settings = VaultConfig(
            FORMAT, epsilon, delta, unit_field, model, embedder, log_questions, payment, history, ledger
        )
        settings = replace(settings, accept_claims=accept_claims, fields=dict(fields or {}), people=people, store=store)
        settings = replace(
            settings,
            ledger_name=name if ledger else "",
            store_name=store_name if is_address(store) else "",
        )
        make_folder(Path(path), settings, FAILURE_SHARE)
        return cls.open(path)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        model: VotingModel | None = None,
        embedder: Embedder | None = None,
        store: Store | None = None,
    ) -> Self:
        """Open a vault.

        A model, embedder or store that is given here replaces the configured one, for this object alone.

        Args:
            path: the folder of the vault.
            model: the language model. The guarantee rests on its row contract: see `models.protocol`.
            embedder: the embedder. The vectors in the store must come from the same embedder.
            store: the documents.

        Raises:
            NoSuchVault, VaultVersionError, LedgerError: if the vault is missing, of another format, or damaged.
        """
        path = Path(path)
        settings = read_config(path)
        from discreet.ledger.ledger import open_ledger  # its library takes 0.2 seconds to import

        return cls(VaultComponents(path, settings, open_ledger(path, settings), model, embedder, store))

    def workshop(self, noise: Noise | None = None, ledger: UnitLedger | None = None) -> SynthesisRunner:
        """Return the runner that plans and makes synthetic corpora.

        Args:
            noise: the source of noise; it may be seeded if `ledger` is a simulation.
            ledger: the ledger of a simulation, in place of the vault's. A simulation has a folder of its own.
        """
        return self.components.synthesis_runner(noise, ledger)

    def synthesize(
        self,
        out: str | Path,
        parameters: SynthesisAlgorithm[Any] | None = None,
        *,
        only_new: bool = False,
        force: bool = False,
        told: Told | None = None,
        ray: str | None = None,
    ) -> Synthetic:
        """Make a synthetic corpus, and pay for it once. Questions to the corpus are free.

        An interrupted call can be repeated: it resumes, and pays once.

        Args:
            out: the file; its receipt is written beside it.
            parameters: the method and its parameters: DP-SynRAG with its defaults if None.
            only_new: whether to use only documents that the last corpus did not use.
            force: whether `out` may be overwritten.
            told: receives the step, the amount that is done, and the total amount.
            ray: the address of a Ray cluster (engines/ray.py) whose workers run the model; none if None.

        Raises:
            UsageError, BudgetExhausted, BadData: if `out` cannot be written, if a unit has too little budget, or if
                there are too few documents. Nothing was paid, unless the error says so: for a task that drops every
                text, or a question that left too little meanwhile.
        """
        wanted = parameters or DPSynRAG()
        try:
            with by_steps() as shown:
                runner, report = self.workshop(), told or shown
                return make_corpus(runner, Path(out), wanted, only_new=only_new, force=force, told=report, ray=ray)
        finally:
            self.ledger.note()

    def export_vectors(self, out: str | Path, wanted: Export, *, force: bool = False) -> Exported:
        """Write a noisy projected vector for each unit, and charge all units: see `export`."""
        return export_vectors(self.components.vector_source, Path(out), wanted, force=force)

    def ask(
        self,
        question: str | Request,
        algorithm: Algorithm | None = None,
        *,
        not_private: bool = False,
        reuse: bool = True,
        anew: bool = False,
        public: bool = True,
        quantum: float = 0.0,
        question_id: str = "",
        propose: str | Path | None = None,
        labelled: str | Path | None = None,
    ) -> Answer:
        """Answer a question, and charge it. A question that was asked before costs nothing.

        Of processes that ask the same question at once, one pays. A yes/no question becomes a choice.

        Args:
            question: the question; or a request (`discreet.count(...)`), or its text form: 'count: "fever" or "rash"'.
            algorithm: the algorithm; that of `decide(question)` if None.
            not_private: must be true for baselines without a guarantee.
            reuse: whether released answers to this question and to related ones may be used.
            anew: whether to pay again for a question that was asked before.
            public: whether the public prompt may read the public corpus, if the vault has one.
            question_id: the question's id in the ledger, of 32 hexadecimal digits; a new one if empty.
            quantum: seconds; the answer or the refusal comes at a multiple of them, or at once if 0.
            propose: a public corpus. Its answers are candidates of the vote, which then needs fewer votes for them.
            labelled: public texts with their truth: the intervals of a statistic cover what phrases get wrong as well.

        Raises:
            UsageError, BadData, BudgetExhausted: if the question, the corpus or the budget does not allow it, or if a
                baseline lacks `not_private`. Nothing was charged.
            Interrupted: if Ctrl-C was pressed; charges stay.
        """
        given = str(question)
        question, chosen = self._decided(question, algorithm)
        if propose is not None:
            check_hears(chosen)
        with at_a_multiple(quantum) as pace:
            texts = None if propose is None else PublicTexts.read(Path(propose), self.embedder)
            options = AskOptions(not_private, reuse, anew, public, question_id, propose=texts, pace=pace)
            sample = None if labelled is None else LabelledSample.read(Path(labelled))
            if sample is not None:
                check_sample(chosen, sample)
            answer = self._ask(question, chosen, options)
            if sample is not None and isinstance(chosen, Statistic):
                answer = widen_answer(self.history, question, chosen, answer, sample)
            return answer if question == given or is_request(given) else replace(answer, asked=question)

    def _ask(self, question: str, algorithm: Algorithm, options: AskOptions) -> Answer:
        return self.pipeline.run(question, algorithm, options)

    def price(self, question: str | Request, algorithm: Algorithm | None = None, *, reuse: bool = True) -> float:
        """Return the highest epsilon that a question may cost a unit: public. Load no model. Raise errors as `ask`."""
        estimate = self.pipeline.estimate(*self._decided(question, algorithm), AskOptions(reuse=reuse))
        return 0.0 if estimate.released else estimate.epsilon

    def estimate(self, question: str | Request, algorithm: Algorithm | None = None) -> Price:
        """Return the price of a question with the sum of its charges, also if it was released; else as `price`."""
        return self.pipeline.estimate(*self._decided(question, algorithm), AskOptions())

    @property
    def pipeline(self) -> QueryPipeline:
        """The way of a question, from its text to an answer with a receipt."""
        return QueryPipeline(self.components)

    def __repr__(self) -> str:
        return f"Vault({str(self.path)!r}, unit {self.settings.unit_field!r})"

    @property
    def odometer(self) -> Odometer:
        """The most that the questions of this object may have cost any one unit: public."""
        return self.pipeline.odometer

    def ask_corpus(self, question: str, corpus: str | Path, *, max_tokens: int = 32, prefix: str = "") -> Answer:
        """Answer from a synthetic corpus, for free, with this vault's model and embedder."""
        texts = PublicTexts.read(Path(corpus), self.embedder)
        return self.pipeline.read_texts(question, texts, RAG(max_tokens=max_tokens, prefix=prefix))

    def simulate(
        self,
        question: str,
        algorithm: Algorithm,
        *,
        noise: Noise | None = None,
        model: VotingModel | None = None,
        ledger: UnitLedger | None = None,
        history: AnswerCache | None = None,
        public: PublicTexts | None = None,
        propose: PublicTexts | None = None,
    ) -> Answer:
        """Answer as `ask` would, without a charge. The answer is private: for the custodian alone.

        Args:
            question: the question.
            algorithm: the algorithm.
            noise: the source of noise; it may be seeded, since nothing is released.
            model: the language model, in place of the vault's.
            ledger: the ledger of a simulation; one with enough budget if None.
            history: the answers of the simulation, to use again and to extend.
            public: the texts that the public prompt may read; none if None.
            propose: the public corpus that proposes answers to the voters; none if None.
        """
        return self.pipeline.simulate(
            question,
            algorithm,
            noise=noise,
            model=model,
            ledger=ledger,
            history=history,
            public=public,
            proposing=propose,
        )

    def algorithm_for(self, question: str, **given: Any) -> Algorithm:
        """Return the statistic that a question asks for, by public rules; `default_algorithm()` if it asks for none.

        Args:
            question: the question.
            given: parameters of the statistic, such as `where` and `epsilon`.

        Raises:
            CannotAnswer: if it asks for a statistic that the vault cannot release, or is of no kind that voters answer.
                An algorithm that is named is asked nevertheless.
        """
        return self.decide(question, **given).algorithm

    def decide(self, question: str | Request, **given: Any) -> Decision:
        """Return what is asked, as a request, and the algorithm that answers it: public, and free.

        Raises:
            CannotAnswer: as `algorithm_for`.
        """
        return self.own_router.decide(question, self.usual, given=lambda: given)

    def usual(self, question: str, choices: Sequence[str] = ()) -> Algorithm:
        """Return the algorithm of a question that asks for no statistic, with its public choices."""
        usual = self.default_algorithm(question)
        if not choices:
            return usual
        own: Any = usual
        chosen = {"choices": tuple(choices)}
        made: Algorithm = (
            replace(own, inner=replace(own.inner, **chosen)) if hasattr(own, "inner") else replace(own, **chosen)
        )
        return made

    @property
    def router(self) -> Router:
        """What decides about questions, from public values alone."""
        parts = self.components
        return Router(self.settings, parts.language, parts.readings.schema, parts.parser, parts.codes.schema)

    @property
    def own_router(self) -> Router:
        """The router of the one who holds the vault, who may also see all that was asked and released."""
        # Without a release there is none to look at, and an embedder for it is not made.
        if not (self.settings.history and (self.path / "history.jsonl").exists()):
            return self.router
        return replace(self.router, earlier=self.components.history.made_of_all(said))

    def _decided(self, question: str | Request, algorithm: Algorithm | None) -> tuple[str, Algorithm]:
        """Return the question that is asked, and its algorithm: the given one, if there is one."""
        if algorithm is None:
            decision = self.decide(question)
            return decision.question, decision.algorithm
        text = str(question)
        if not is_request(text):
            return text, algorithm
        request = parse_request(text)
        return request.question if request.kind == FACT else str(request), algorithm

    def default_algorithm(self, question: str = "") -> MuRAGAda | Consensus:
        """Return the algorithm of a question that names none.

        It answers by what was read before, if documents were read and the question names a known attribute.

        Args:
            question: the question; any that names an attribute if empty.
        """
        usual = usual_algorithm(self.settings.payment)
        readings = self.components.readings
        suits = readings.complete and (not question or names_attribute(question, readings.schema))
        return vote_by_readings(usual) if suits else usual

    def budget(self) -> BudgetReport:
        """Return the grant, its spent part and the rest: for the custodian."""
        return report(self.ledger, self.default_algorithm(), self.settings.unit_field, self.components.count_units)

    def tune(self, questions: Sequence[str], tuning: Tuning | None = None) -> tuple[float, Receipt]:
        """Release a similarity threshold for `MuRAG`, tuned on public questions. Return it with its receipt.

        Raises:
            UsageError: if the payment is "corpus", or if there is no question.
            BudgetExhausted: if every unit has less left than the release costs.
            Interrupted: if Ctrl-C was pressed; charges stay.
        """
        return release_threshold(tuning or Tuning(), questions, self.corpus, self.ledger, self.settings)
