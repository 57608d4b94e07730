"""The pipeline of a question: validate, recall, plan, admit, run, record. Simulations use the same steps."""

import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discreet.algorithms.base import ANY_VOCABULARY, Algorithm, Answer, Input, Plan, Query
from discreet.algorithms.ensemble import check_question
from discreet.algorithms.retrieval import propose_answers
from discreet.algorithms.text.attributes import matches
from discreet.baselines import RAG, BaselineCorpus
from discreet.config import VaultConfig
from discreet.models.capabilities import check_ready
from discreet.models.completer import NO_MODEL
from discreet.models.protocol import VotingModel
from discreet.planning.prices import check_askable
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.filter import MemoryLedger, UnitLedger, public_texts
from discreet.privacy.noise import Noise
from discreet.privacy.transcript import Transcript
from discreet.query import admission, recall
from discreet.query.answer_cache import AnswerCache, Released, alone_with
from discreet.query.execution import AT_ONCE, Execution, Pace
from discreet.query.public_context import PublicContext, propose
from discreet.questions.joins import check_plain
from discreet.questions.request import check_known, request_of_statistic, under_schema
from discreet.questions.sentences import normalize_question, searched, with_choices
from discreet.statistics.statistic import Statistic
from discreet.statistics.themes import Themes
from discreet.store.public import PublicTexts
from discreet.store.sealed_corpus import SealedCorpus
from discreet.synthesis.readings import Readings

if TYPE_CHECKING:
    from discreet.ledger.ledger import LogLedger


class QueryComponents(Protocol):
    """The parts of a vault that answer a question.

    Attributes:
        path: the vault's folder.
        settings: the configuration, fixed when the vault was made.
        ledger: the grant, and every charge against it.
        asked: the ids of the questions that these parts answered, in the ledger.
    """

    path: Path
    settings: VaultConfig
    ledger: "LogLedger"
    asked: list[str]

    @property
    def model(self) -> VotingModel:
        """The language model; loaded at first use."""

    @property
    def corpus(self) -> SealedCorpus:
        """The documents, sealed, to be searched."""

    @property
    def baseline_corpus(self) -> BaselineCorpus:
        """The documents for baselines without a guarantee, also in the clear."""

    @property
    def history(self) -> AnswerCache:
        """The answers that were released."""

    @property
    def public_context(self) -> PublicContext:
        """The corpus that the public prompt may read."""

    @property
    def readings(self) -> Readings:
        """What the model read in the texts."""

    @property
    def codes(self) -> Readings:
        """The codes that were found in the texts."""

    @property
    def asked_settings(self) -> VaultConfig:
        """The settings as questions see them: with the codes among the declared fields."""

    @property
    def flight_secret(self) -> bytes:
        """The key from which flights get their names."""

    def load(self) -> None:
        """Load the embedder and the model of a new answer, so that a failure comes before any payment."""

    def load_embedder(self) -> None:
        """Load the embedder, and check that it is there, so that a failure comes before any payment."""


@dataclass(frozen=True)
class Landed:
    """What is public of a vault at a moment: the answers that have left, and what all units paid for them.

    Attributes:
        history: the releases.
        spent: what all units paid.
        paid: what is public of the payments of single units.
    """

    history: AnswerCache
    spent: Spending
    paid: Transcript


@dataclass(frozen=True)
class AskOptions:
    """The options of a question.

    Attributes:
        not_private: whether a baseline without a guarantee may answer.
        reuse: whether released answers to this question and to related ones may be used.
        anew: whether to pay again for a question that was asked before.
        public: whether the public prompt may read the public corpus, if the vault has one.
        propose: the public corpus that proposes answers to the voters; none if None.
        id: the question's id in the ledger, of 32 hexadecimal digits; a new one if empty.
        ceiling: the most that any one unit may pay; None for no limit beside the algorithm's own.
        pace: when the reply leaves.
        landed: what is looked at in place of the vault's history and balance; None for these.
    """

    not_private: bool = False
    reuse: bool = True
    anew: bool = False
    public: bool = True
    id: str = ""
    ceiling: Spending | None = None
    propose: PublicTexts | None = None
    pace: Pace = AT_ONCE
    landed: Landed | None = None


@dataclass(frozen=True)
class Price:
    """The price of a question.

    Attributes:
        most: the most that a new answer may cost a unit; nothing if the algorithm is free.
        released: whether the answer was released before, and is free.
        epsilon: what `most` amounts to by itself.
        assumed: what the answer takes for granted about codes and earlier readings.
    """

    most: Spending
    released: bool
    epsilon: float = 0.0
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A valid question with its algorithm.

    Attributes:
        question: the text of the question.
        algorithm: the algorithm, as this vault runs it.
        plan: the most that it may cost; None if it is free.
        options: its options.
        asked: the algorithm before the schema named its attribute; None if that is the same.
    """

    question: str
    algorithm: Algorithm
    plan: Plan | None
    options: AskOptions
    asked: Algorithm | None = None


class QueryPipeline:
    """The pipeline of questions to one vault. Every charge is in the ledger before noise is drawn."""

    def __init__(self, parts: QueryComponents) -> None:
        self._parts = parts

    def run(self, question: str, algorithm: Algorithm, options: AskOptions) -> Answer:
        """Answer a question: see `Vault.ask`."""
        request = self._validate(question, algorithm, options)
        parts, budget = self._parts, self._parts.ledger.budget
        uses = admission.times(budget, parts.ledger.spent(), request.plan)
        answered = self._recall(request) or self._answer_once(request)
        cost = admission.unit_cost(budget, answered.receipt, uses)
        return replace(answered, remaining=self.left, cost=cost, understood=_understood(request))

    def estimate(self, question: str, algorithm: Algorithm, options: AskOptions, *, admit: bool = True) -> Price:
        """Return the price of a question: public. Load no model.

        With `admit`, refuse a question that the vault cannot pay.
        """
        request = self._validate(question, algorithm, replace(options, not_private=True))
        most = request.plan.max_cost if request.plan else Spending.nothing()
        released = self._recall(request) is not None
        if admit and request.plan is not None and not released:
            self._admit(request)
        alone = request.plan.price(self._parts.ledger.budget) if request.plan else 0.0
        return Price(most, released, alone, self._assumed(request.algorithm))

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
        proposing: PublicTexts | None = None,
    ) -> Answer:
        """Answer a question without paying: see `Vault.simulate`."""
        parts = self._parts
        admission.check_declared(algorithm)
        model = (model or parts.model) if algorithm.spec.needs_model else NO_MODEL
        question = normalize_question(question)
        unit = parts.settings.unit_field
        planned = algorithm
        released = recall.find_released(history, question, algorithm) if history else None
        if released is None and isinstance(algorithm, Statistic):
            algorithm = self._under_schema(algorithm)
            released = recall.find_released(history, question, algorithm) if history else None
        if released:
            return recall.repeat_answer(released, unit)
        related = history.related(question, recall.RELATED, recall.ALIKE) if history else []
        plan = algorithm.plan((ledger or parts.ledger).budget, model.vocabulary_size)
        ceiling = plan.ceiling if plan else Budget(1.0, parts.settings.delta)
        granted = admission.simulation_budget(algorithm, ceiling, parts.ledger.budget)
        ledger = ledger or MemoryLedger(granted, simulation=True)
        query = _query(question, algorithm, recall.public_record(related, public, question))
        by_unit = algorithm.spec.payment is Payment.EACH_UNIT
        if proposing is not None and Input.PROPOSALS in algorithm.spec.inputs:
            algorithm = propose_answers(algorithm, propose(question, proposing, related, algorithm, model))
        check_ready(model)
        check_question(algorithm, question, model)
        execution = Execution(
            secrets.token_hex(8), query, algorithm, ceiling, by_unit, unit, noise, self._assumed(algorithm)
        )
        answered = execution.answer(self._corpus(algorithm), model, ledger)
        return recall.keep_answer(history, question, algorithm, answered, planned) if history else answered

    def read_texts(self, question: str, texts: PublicTexts, reader: RAG) -> Answer:
        """Answer from public texts, for free."""
        question = normalize_question(question)
        passages = texts.unsealed_passages(question, reader.units)
        generated = reader.read(question, passages, self._parts.model)
        receipt = public_texts(self._parts.settings.unit_field)
        return Answer.of(generated, "rag over public texts", receipt, self.left)

    @property
    def landed(self) -> Landed:
        """What is public now, if no answer is on its way."""
        ledger = self._parts.ledger
        return Landed(self._parts.history.as_it_is(), ledger.spent(), ledger.transcript())

    @property
    def odometer(self) -> admission.Odometer:
        """The most that the questions to these parts may have cost any one unit: public."""
        ledger, question_ids = self._parts.ledger, frozenset(self._parts.asked)
        return admission.Odometer(ledger.budget, ledger.spent_at_most(question_ids), len(question_ids))

    @property
    def left(self) -> float | None:
        """The rest of epsilon of every unit; None if the payment is "unit", since the rests of units differ."""
        if self._parts.settings.payment == "unit":
            return None
        return self._parts.ledger.budget.left(self._parts.ledger.spent())

    def _validate(self, question: str, algorithm: Algorithm, options: AskOptions) -> Prepared:
        """Refuse an invalid question, from public values alone. Return it with its plan."""
        parts, question = self._parts, normalize_question(question)
        admission.check_declared(algorithm)
        if isinstance(algorithm, Statistic):
            check_plain(algorithm, question)  # first: a release to other tests is no answer
        admission.check_payment(algorithm, parts.settings, parts.path)
        if isinstance(algorithm, Themes) and not algorithm.values:  # without them it has no price
            algorithm = self._under_schema(algorithm)
        algorithm = with_choices(algorithm, question)
        admission.require_opt_in(algorithm, options.not_private)
        check_askable(parts.path, parts.settings, algorithm, parts.ledger.budget)
        prepared = self._planned(Prepared(question, algorithm, None, options))
        if isinstance(algorithm, Statistic) and self._known(prepared) is not None:
            return prepared  # what was paid is given, although nothing is read any more, or under another schema
        check_known(algorithm, parts.asked_settings, read=parts.readings.complete)
        found = self._under_schema(algorithm)
        return prepared if found == algorithm else self._planned(replace(prepared, algorithm=found, asked=algorithm))

    def _planned(self, request: Prepared) -> Prepared:
        """Return a request with its plan, if the plan is sound."""
        algorithm = request.algorithm
        plan = algorithm.plan(self._parts.ledger.budget, ANY_VOCABULARY) if algorithm.spec.private else None
        admission.check_plan(algorithm, plan)
        return replace(request, plan=plan)

    def _under_schema(self, algorithm: Algorithm) -> Algorithm:
        parts = self._parts
        return under_schema(
            algorithm,
            parts.asked_settings,
            parts.readings.schema,
            lambda text: parts.corpus.mean(text),
            parts.codes.schema,
        )

    def has_released(self, question: str, algorithm: Algorithm) -> bool:
        """Return whether the answer to a question was released before, under any schema: public."""
        prepared = self._planned(Prepared(normalize_question(question), algorithm, None, AskOptions()))
        return self._known(prepared) is not None

    def _recall(self, request: Prepared) -> Answer | None:
        """Return the earlier answer to this question, if it may be used and has all required parts."""
        released = self._known(request)
        return recall.repeat_answer(released, self._parts.settings.unit_field) if released else None

    def _known(self, request: Prepared) -> Released | None:
        """Return the release that answers a question: in its own words, or with the attribute of the schema."""
        if request.options.anew or not self._remembers(request):
            return None
        landed, question = request.options.landed, request.question
        history = landed.history if landed else self._parts.history
        before = recall.find_released(history, question, request.asked) if request.asked else None
        return before or recall.find_released(history, question, _as_kept(request))

    def _answer_once(self, request: Prepared) -> Answer:
        """Return a new answer. Of several askers of one question, one pays. The others wait for its release."""
        if request.options.anew or not self._remembers(request):
            return self._pay(request, lambda: self._related(request, others=True) if self._remembers(request) else [])
        parts = self._parts
        with alone_with(request.question, recall.tell_apart(request.algorithm), parts.flight_secret, parts.ledger):
            # Another asker may have paid meanwhile.
            return self._recall(request) or self._pay(request, lambda: self._related(request))

    def _pay(self, request: Prepared, related: Callable[[], list[Released]]) -> Answer:
        """Return a new answer: admitted, run, paid and recorded."""
        parts, algorithm = self._parts, request.algorithm
        admission.check_ceiling(request.plan, request.options.ceiling)
        ceiling = self._admit(request)  # a refusal comes before the model is loaded
        if algorithm.spec.needs_model:
            parts.load()
        elif Input.PASSAGES in algorithm.spec.inputs:  # a search embeds the question
            parts.load_embedder()
        before = related() if algorithm.spec.needs_model else []
        texts = (
            parts.public_context.texts
            if request.options.public and request.plan and algorithm.spec.needs_model
            else None
        )
        query = _query(request.question, algorithm, recall.public_record(before, texts, request.question))
        by_unit, unit = parts.settings.payment == "unit", parts.settings.unit_field
        model = parts.model if algorithm.spec.needs_model else NO_MODEL
        check_ready(model)
        check_question(algorithm, request.question, model)
        with_proposals = algorithm
        if request.options.propose is not None and Input.PROPOSALS in algorithm.spec.inputs:
            proposals = propose(request.question, request.options.propose, before, algorithm, model)
            with_proposals = propose_answers(algorithm, proposals)
        number, assumed = request.options.id or uuid.uuid4().hex, self._assumed(algorithm)
        unable = self._unable(request.plan)
        execution = Execution(number, query, with_proposals, ceiling, by_unit, unit, assumed=assumed)
        parts.ledger.begin(execution.id, algorithm.name, request.question, private=algorithm.spec.private)
        parts.asked.append(execution.id)
        answered = execution.answer(self._corpus(algorithm), model, parts.ledger)
        parts.ledger.finish(execution.id, answered.stopped)
        if parts.settings.history and request.plan:
            kept, pace = _as_kept(request), request.options.pace
            answered = recall.keep_answer(parts.history, request.question, kept, answered, request.asked, pace)
        used = texts.digest if texts else ""
        receipt = answered.receipt and replace(answered.receipt, reused=len(before), public_corpus=used)
        return replace(answered, receipt=receipt, unable=answered.counts.unable if answered.counts else unable)

    def _unable(self, plan: Plan | None, landed: Landed | None = None) -> int | None:
        """Return how many units at most cannot pay for a question now, or by what has landed: public."""
        if plan is None or self._parts.settings.payment != "unit":
            return 0
        if landed is None:
            return self._parts.ledger.unable_now(plan.max_cost)
        budget = self._parts.ledger.budget
        return landed.paid.unable(budget.limit, budget.filter_state(landed.spent) + budget.filter_state(plan.max_cost))

    def _remembers(self, request: Prepared) -> bool:
        return request.options.reuse and self._parts.settings.history and request.plan is not None

    def _related(self, request: Prepared, *, others: bool = False) -> list[Released]:
        return self._parts.history.related(request.question, recall.RELATED, recall.ALIKE, others=others)

    def _assumed(self, algorithm: Algorithm) -> tuple[str, ...]:
        """Return what the answer takes for granted about what read or coded the documents, if that is used."""
        parts, book = self._parts, self._parts.codes.schema
        reads = (algorithm.fields_tested, algorithm.attributes) if isinstance(algorithm, Statistic) else ((), ())
        fields = {one.name.replace(" ", "_"): one.name for one in (book.coded if book else ())}
        coded = [name for own, name in fields.items() if own in reads[0] or any(matches(own, one) for one in reads[1])]
        codes = (*parts.codes.assumed, book.trusted(coded, parts.codes.done.about)) if book and coded else ()
        return (parts.readings.assumed if algorithm.spec.needs_readings else ()) + codes

    def _corpus(self, algorithm: Algorithm) -> SealedCorpus:
        """Return the documents for an algorithm: readable in the clear only if it promises nothing."""
        return self._parts.corpus if algorithm.spec.private else self._parts.baseline_corpus

    def _admit(self, request: Prepared) -> Budget:
        """Return the question's own budget, if it can be paid."""
        ledger, landed = self._parts.ledger, request.options.landed
        spent = landed.spent if landed else ledger.spent()
        budget = admission.question_budget(request.algorithm, ledger.budget, spent, ANY_VOCABULARY)
        if isinstance(request.algorithm, Statistic) and self._parts.settings.history:
            unable, history = self._unable(request.plan, landed), landed.history if landed else self._parts.history
            admission.check_counted(request.algorithm, unable, recall.releases_of(history), ledger.budget)
        return budget


def _understood(request: Prepared) -> str:
    """Return how the question was understood, before the schema named its attribute: public. "" without rules."""
    algorithm = request.asked or request.algorithm
    return str(request_of_statistic(algorithm)) if isinstance(algorithm, Statistic) else ""


def _query(question: str, algorithm: Algorithm, public: str) -> Query:
    return Query(question, public, searched(question, algorithm.spec.choices))


def _as_kept(request: Prepared) -> Algorithm:
    """Return the algorithm under which "no answer" is kept: with a corpus that proposes, it is another question."""
    texts = request.options.propose
    return request.algorithm if texts is None else propose_answers(request.algorithm, (f"corpus {texts.digest}",))
