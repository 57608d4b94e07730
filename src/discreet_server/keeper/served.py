"""A vault that is served: opened, its models, and how a question is priced and answered in it.

An analyst names a model of the vault: private algorithms that can pay there, and what is free.
"""

import json
import math
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from discreet.algorithms.base import ANY_VOCABULARY, Algorithm, Answer, Guarantee, Plan
from discreet.algorithms.consensus import names_attribute
from discreet.algorithms.retrieval import vote_by_readings
from discreet.baselines import RAG, NonRAG
from discreet.config import LARGEST_EPSILON, VaultConfig, field_type, field_values, read_config
from discreet.errors import CannotAnswer, DiscreetError, PriceChanged, UsageError
from discreet.planning.prices import usual_algorithm, vault_budget
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Budget, Spending
from discreet.query.admission import check_payment
from discreet.query.execution import Pace
from discreet.query.pipeline import AskOptions, Landed
from discreet.questions.follow_ups import complete, condense
from discreet.questions.request import is_request
from discreet.questions.router import Decision
from discreet.registry import ALGORITHMS, make_algorithm
from discreet.statistics.statistic import Statistic
from discreet.statistics.values import ListValues, ValueCounts
from discreet.store.registry import stored_dimension
from discreet.system.databases import answering
from discreet.vault import Vault
from discreet_server.config import PresetConfig, ServeConfig, ServedVault
from discreet_server.wire import (
    LANES,
    Answered,
    Condense,
    Condensed,
    Estimated,
    FieldCard,
    Lane,
    ModelCard,
    Question,
    UnitCharge,
    VaultCard,
)

# --- presets ----------------------------------------------------------------------------------------------------------


FREE, PUBLIC = "free", "public"
"""The models that cost nothing: the language model alone; the vault's public corpus."""
ALL = "all"
USUAL = ("consensus", "dp-ksa", FREE, PUBLIC)
"""What is served beside a vault's default. The slowest of them sets a quantum: others are opted in."""


class NoSuchModel(UsageError):  # noqa: N818 - reads better without the suffix
    """A model or a vault that is not served."""


@dataclass(frozen=True)
class Preset:
    """A model that can be asked.

    Attributes:
        name: as in `Question.model`; "" for the vault's default.
        algorithm: how it answers.
        options: its parameters, fixed by the custodian.
    """

    name: str
    algorithm: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def build(self, question: Question) -> Algorithm:
        """Return the algorithm with what the question asks for, within what the custodian fixed.

        Raises:
            UsageError: if it asks for more, or for what the algorithm does not have.
        """
        options = dict(self.options)
        if question.choices:
            options["choices"] = self._choices(question.choices)
        if question.epsilon is not None and self.algorithm != NonRAG.name:
            options["epsilon"] = self._epsilon(question.epsilon)
            options.pop("uses", None)
        algorithm = make_algorithm(self.algorithm, options)
        longest = find_longest(algorithm)
        if question.max_tokens is not None and longest is not None and question.max_tokens < longest:
            algorithm = make_algorithm(self.algorithm, options | {"max_tokens": question.max_tokens})
        return algorithm

    def _choices(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        fixed = self.options.get("choices")
        if fixed and sorted(fixed) != sorted(wanted):
            raise UsageError(f"The model '{self.name}' has choices of its own. Ask another model, or leave them out.")
        return tuple(fixed or wanted)

    def _epsilon(self, wanted: float) -> float:
        fixed = self.options.get("epsilon")
        if fixed is not None and wanted > fixed:
            raise UsageError(
                f"The model '{self.name}' costs at most {fixed:g}, and {wanted:g} was asked. Ask for less."
            )
        return wanted


class Presets:
    """The models of one vault.

    Args:
        settings: the vault's.
        path: its folder.
        budget: its grant.
        configured: what the custodian added.
        only: the built-in models that are served; `USUAL` if empty, and all that can pay if "all" is among them.
        public: whether the vault has a public corpus.
    """

    def __init__(
        self,
        settings: VaultConfig,
        path: Path,
        budget: Budget,
        *,
        configured: tuple[PresetConfig, ...] = (),
        only: tuple[str, ...] = (),
        public: bool = False,
    ) -> None:
        self._settings, self._path, self._budget = settings, path, budget
        usual = usual_algorithm(settings.payment).name
        built_in = [Preset(name, name) for name in sorted(ALGORITHMS) if name != NonRAG.name]
        built_in = [one for one in built_in if self._can_pay(one)]
        free = [Preset(FREE, NonRAG.name), *([Preset(PUBLIC, PUBLIC)] if public else [])]
        wanted = only or USUAL
        presets = [Preset("", usual), *(one for one in [*built_in, *free] if ALL in wanted or one.name in wanted)]
        self._presets = {one.name: one for one in presets}
        for one in configured:
            self._add(Preset(one.name, one.algorithm, one.options))

    def _add(self, preset: Preset) -> None:
        if preset.name in (FREE, PUBLIC) or preset.name in ALGORITHMS:
            raise UsageError(
                f"A preset has the name {preset.name!r} of a built-in model. Choose another in serve.toml."
            )
        self.check(preset.build(_dummy()))  # what cannot be asked is noticed when the server starts
        self._presets[preset.name] = preset

    def __iter__(self) -> Any:
        return iter(self._presets.values())

    def find(self, name: str) -> Preset:
        """Return the model of this name.

        Raises:
            NoSuchModel: if it is not served here.
        """
        if name not in self._presets:
            raise NoSuchModel("This model is not served. See: GET /v1/models")
        return self._presets[name]

    def check(self, algorithm: Algorithm) -> None:
        """Refuse an algorithm without a guarantee, and one that cannot run in this vault.

        Raises:
            UsageError: if it is one.
        """
        if algorithm.spec.guarantee is not Guarantee.DP:
            raise UsageError(f"'{algorithm.name}' gives no guarantee, so it is not served. Name a private algorithm.")
        check_payment(algorithm, self._settings, self._path)

    def plan(self, preset: Preset) -> Plan | None:
        """Return the most that a question of this model costs any one unit; None if it is free."""
        if preset.algorithm in (PUBLIC, NonRAG.name):
            return None
        return preset.build(_dummy()).plan(self._budget, ANY_VOCABULARY)

    def _can_pay(self, preset: Preset) -> bool:
        try:
            algorithm = preset.build(_dummy())
            self.check(algorithm)
            plan = algorithm.plan(self._budget, ANY_VOCABULARY)
        except (UsageError, TypeError, ValueError):  # another package's algorithm may have no defaults
            return False
        fits = plan is not None and plan.ceiling.delta <= self._budget.delta and self._budget.admits(plan.max_cost)
        return fits and algorithm.spec.payment is not Payment.NOTHING


def find_longest(algorithm: Algorithm) -> int | None:
    """Return how many tokens an answer has at most; None if the algorithm does not say."""
    for part in (algorithm, getattr(algorithm, "inner", None)):
        own_limit = getattr(part, "max_tokens", None)
        if isinstance(own_limit, int):
            return own_limit
    return None


def _dummy() -> Question:
    return Question("0" * 32, "dummy", "", "What is it?")


def check_served(config: ServeConfig) -> None:
    """Refuse vaults that are not there, and presets that cannot be asked.

    Raises:
        DiscreetError: if there is one; it says which.
    """
    names = {vault.name for vault in config.vaults}
    for preset in config.presets:
        strange = set(preset.vaults) - names
        if strange:
            raise UsageError(
                f"The preset '{preset.name}' is for '{min(strange)}', which is not served. Mend serve.toml."
            )
    for vault in config.vaults:
        settings = read_config(Path(vault.path))
        own = tuple(preset for preset in config.presets if not preset.vaults or vault.name in preset.vaults)
        grant = vault_budget(settings.epsilon, settings.delta)
        Presets(settings, Path(vault.path), grant, configured=own, only=config.models)
    for file in (config.tls_cert, config.tls_key):
        if file and not Path(file).is_file():
            raise UsageError(f"There is no file {file}. Name the certificate and its key: --tls-cert, --tls-key")


# --- served -----------------------------------------------------------------------------------------------------------


Opener = Callable[[Path], Vault]
FREE_ALGORITHMS = (PUBLIC, NonRAG.name)
_SHORTEST_CHECK = 5.0
"""Seconds between two looks at whether the ledger can be written."""
_OF_USUAL = 0.5
_MOST_DECIDED = 1024
"""Decisions about questions that were estimated, and not asked yet."""
_EACH_KIND = (
    "What is the most common dummy ailment?",
    "How many have the dummy ailment?",
    "Which remedy helps against the dummy ailment?",
)
"""A question that is refused, one that is counted, and one of the model: each kind loads words of its own."""
_KEPT = 60.0
"""Seconds, beside two quanta, for which is kept what was public before a question: its reply has left then."""


class Served:
    """A vault, open, with its model loaded.

    Args:
        named: its name and folder.
        config: the server's.
        open_vault: opens it.
        load: whether the model is loaded now; if not, at the first question that needs it.
    """

    def __init__(self, named: ServedVault, config: ServeConfig, open_vault: Opener, *, load: bool = True) -> None:
        self.name, self.longest = named.name, dict[Lane, float].fromkeys(LANES, 0.0)
        self.vault = open_vault(Path(named.path))
        if load:
            self.vault.components.load()
        configured = tuple(one for one in config.presets if not one.vaults or named.name in one.vaults)
        _ = self.vault.history, self.vault.corpus, self.vault.components.parser  # so that other threads find them made
        self._pipeline = self.vault.pipeline
        self.presets = Presets(
            self.vault.settings,
            self.vault.path,
            self.vault.ledger.budget,
            configured=configured,
            only=config.models,
            public=self.vault.public_context.texts is not None,
        )
        self._least_list = least_list(self.vault.ledger.budget)
        self._writable = (-math.inf, False)
        self._before: dict[str, tuple[float, Landed]] = {}
        self._decided = OrderedDict[str, tuple[Question, Decision]]()
        self._deciding = threading.Lock()
        if load:
            self._load_words()

    def warm_up(self) -> None:
        """Read what questions read of the units. Else the first question would, and take longer than measured ones."""
        with suppress(Exception):  # the question will say it
            if stored_dimension(self.vault.settings, self.vault.path / "store") is not None:
                self.vault.corpus.records()

    def _load_words(self) -> None:
        """Understand a question of each kind. Else the first one would load the words, and take longer than others."""
        for words in _EACH_KIND:
            with suppress(Exception):  # one is refused; any other error is for the question to say
                self._decide(self.presets.find(""), Question("0" * 32, self.name, "", words))

    def estimate(self, question: Question, air: Sequence[str] | None = None) -> Estimated:
        """Return what a question costs at most: from public values, beside a question that is being answered.

        They are those from before the first of the questions in the air. What these changed is not public yet. Without
        `air` they are those of now, and the balance is not looked at.

        Raises:
            DiscreetError: if it would be refused, as far as that shows without the model.
        """
        preset = self.presets.find(self._model(question))
        if preset.algorithm == PUBLIC:
            self._check_public(question)
            return Estimated(UnitCharge.nothing(), free=True, lane="voters")
        landed = None if air is None else self._landed(air)
        decision, options = self._decide(preset, question), AskOptions(anew=question.anew, landed=landed)
        self._remember(question, decision)
        price = self._pipeline.estimate(decision.question, decision.algorithm, options, admit=air is not None)
        return Estimated(
            self._price(price.most, price.epsilon),
            free=price.released or price.most == Spending.nothing(),
            lane="records" if price.released else self._lane(decision),
            understood=decision.echo,
        )

    def answer(self, question: Question) -> Answered:
        """Return the answer to a question, paid.

        Raises:
            DiscreetError: if it is refused or broken off; `paid` tells what was paid.
        """
        with answering(self.vault.path):
            return self._answer(question)

    def _answer(self, question: Question) -> Answered:
        preset, text = self.presets.find(self._model(question)), question.question
        if preset.algorithm == PUBLIC:
            answer = self._read_public(question)
        else:
            decision = self._recall(question) or self._decide(preset, question)
            text = decision.question
            released = question.ceiling is not None and not question.ceiling.is_something
            if question.lane == "records" and self._lane(decision) != "records" and not released:
                raise PriceChanged("The question is read in another way than when it was estimated. Ask again.")
            ceiling = question.ceiling.spending if question.ceiling is not None else None
            pace = Pace(question.begun, question.quantum)
            options = AskOptions(anew=question.anew, id=question.id, ceiling=ceiling, pace=pace)
            self._note_before(question)
            answer = self._pipeline.run(text, decision.algorithm, options)
        if text != question.question and not is_request(question.question):
            answer = replace(answer, asked=text)
        return Answered(describe(answer), self._cost(answer, question.id))

    def condense(self, asked: Condense) -> Condensed:
        """Return the last message as a question that stands alone, written by the model without documents."""
        whole, doubtful = complete([turn.text for turn in asked.messages if turn.role == "user"], self.vault.router)
        if doubtful:
            return Condensed("")  # a statistic is paid: no model guesses what was meant
        return Condensed(whole or condense(self.vault.model, [(turn.role, turn.text) for turn in asked.messages]))

    def paid(self, question: str) -> UnitCharge:
        """Return what any one unit paid at most for a question, by the ledger.

        The connection may have broken while the payment was committed, so writers that are not done are waited for.
        """
        return self._charge(self.vault.ledger.spent_at_most([question], wait=True))

    def most(self, question: Question) -> UnitCharge:
        """Return the most that a question can have cost, where the ledger cannot be asked."""
        try:
            return self.estimate(replace(question, anew=True)).most
        except DiscreetError:
            return UnitCharge.nothing()  # it was refused before anything was paid

    def card(self) -> VaultCard:
        """Return the vault in public values."""
        settings, budget = self.vault.settings, self.vault.ledger.budget
        models = tuple(self._model_card(one) for one in self.presets)
        return VaultCard(
            name=self.name,
            unit=settings.unit_field,
            epsilon=budget.epsilon,
            delta=budget.delta,
            payment=settings.payment,
            language=self.vault.components.language,
            models=models,
            longest_answer_s=self.longest,
            fields=tuple(_field_card(name, kind) for name, kind in self.vault.components.asked_settings.fields.items()),
            read=tuple(schema.names) if (schema := self.vault.components.readings.schema) else (),
        )

    def writable(self) -> bool:
        """Return whether the ledger can be written; looked at every few seconds."""
        looked, is_writable = self._writable
        if time.monotonic() - looked > _SHORTEST_CHECK:
            is_writable = self._look()
            self._writable = (time.monotonic(), is_writable)
        return is_writable

    def _landed(self, air: Sequence[str]) -> Landed:
        now = self._before_first(air) or self._pipeline.landed
        return self._before_first(air) or now  # one of them may have begun at this moment

    def _before_first(self, air: Sequence[str]) -> Landed | None:
        """Return what was public before the first of the questions in the air; None if none has begun."""
        return next((before for one, (_, before) in list(self._before.items()) if one in air), None)

    def _note_before(self, question: Question) -> None:
        """Note what is public before a question is answered, until its reply has left, however many begin meanwhile."""
        now = time.monotonic()
        for past in [one for one, (ends, _) in self._before.items() if ends < now]:
            del self._before[past]
        self._before[question.id] = (now + 2 * question.quantum + _KEPT, self._pipeline.landed)

    def _look(self) -> bool:
        ledger = self.vault.ledger
        path = getattr(ledger, "path", None)
        try:
            ledger.spent()
        except DiscreetError:
            return False
        return path is None or (os.access(path, os.W_OK) and os.access(Path(path).parent, os.W_OK))

    def _model(self, question: Question) -> str:
        """Return the name of the model; the vault's own name is its default."""
        return "" if question.model == self.name else question.model

    def _decide(self, preset: Preset, question: Question) -> Decision:
        """Return what is done with a question; the default model of the vault answers statistics, too."""

        def usual(asked: str, choices: tuple[str, ...]) -> Algorithm:
            algorithm: Algorithm = preset.build(replace(question, question=asked, choices=choices))
            readings = self.vault.components.readings
            reads = not preset.name and readings.complete and names_attribute(asked, readings.schema)
            return vote_by_readings(algorithm) if reads else algorithm

        router = replace(self.vault.router, earlier=question.earlier)  # never the history: it has others' questions
        decision = router.decide(
            question.question,
            usual,
            given=lambda: {"where": question.where} | ({} if (most := question.epsilon) is None else {"epsilon": most}),
            choices=question.choices,
            statistics=not preset.name,
            check=preset.algorithm != NonRAG.name,
        )
        self.presets.check(decision.algorithm)
        if question.where and preset.algorithm != NonRAG.name and not isinstance(decision.algorithm, Statistic):
            raise CannotAnswer("bound", "The key is bound to a population, and voters read the documents of all.")
        return decision

    def _lane(self, found: Decision) -> Lane:
        """Return which time an answer takes. A cheap list draws noise for longer than `records` were measured."""
        algorithm = found.algorithm
        epsilon = algorithm.epsilon if isinstance(algorithm, ValueCounts) else None
        return found.lane if epsilon is None or epsilon >= self._least_list else "voters"

    def _remember(self, question: Question, found: Decision) -> None:
        """Keep the decision about a question until it is asked: made once, even where a model helps to read it."""
        with self._deciding:
            self._decided[question.id] = question, found
            if len(self._decided) > _MOST_DECIDED:
                self._decided.popitem(last=False)

    def _recall(self, question: Question) -> Decision | None:
        """Return the decision about a question that was estimated; None if there was none."""
        with self._deciding:
            estimated, decision = self._decided.pop(question.id, (None, None))
        as_estimated = replace(question, ceiling=None, begun=0.0, quantum=0.0)
        return decision if estimated is not None and as_estimated == replace(estimated, lane=question.lane) else None

    def _check_public(self, question: Question) -> None:
        if question.choices:
            raise UsageError("The public corpus is read without choices. Ask a private model for one.")

    def _read_public(self, question: Question) -> Answer:
        self._check_public(question)
        texts = self.vault.public_context.texts
        if texts is None:
            raise UsageError("The vault has no public corpus any more.")
        longest = RAG().max_tokens
        return self._pipeline.read_texts(
            question.question, texts, RAG(max_tokens=min(longest, question.max_tokens or longest))
        )

    def _spent(self, answer: Answer, question: str) -> Spending:
        receipt = answer.receipt
        if receipt is None or receipt.payment == "nobody":
            return Spending.nothing()
        return receipt.spending if receipt.spending is not None else self.vault.ledger.spent_at_most([question])

    def _cost(self, answer: Answer, question: str) -> UnitCharge:
        """Return what an answer cost: at the order of the grant, or at that of its own ceiling."""
        receipt = answer.receipt
        charge = self._charge(self._spent(answer, question))
        if receipt is None or not receipt.private or receipt.delta > self.vault.ledger.budget.delta:
            return charge
        return replace(charge, epsilon=min(charge.epsilon, receipt.epsilon)) if charge.epsilon else charge

    def _model_card(self, preset: Preset) -> ModelCard:
        plan, grant = self.presets.plan(preset), self.vault.ledger.budget
        price = self._price(plan.max_cost, plan.price(grant)) if plan else UnitCharge.nothing()
        return ModelCard(preset.name, preset.algorithm, preset.algorithm not in FREE_ALGORITHMS, price)

    def _price(self, most: Spending, epsilon: float) -> UnitCharge:
        return replace(self._charge(most), epsilon=min(epsilon, LARGEST_EPSILON))

    def _charge(self, spending: Spending) -> UnitCharge:
        return UnitCharge.of(spending, self.vault.ledger.budget)


def least_list(grant: Budget) -> float:
    """Return the least epsilon of a list that draws no more noise than what is measured for the lane `records`."""
    try:
        return _OF_USUAL * ListValues(attribute="any").plan(grant, 0).price(grant)
    except UsageError:  # none has a usual price here
        return math.inf


def _field_card(name: str, kind: str) -> FieldCard:
    values = (f"{value} ({'/'.join(labels)})" if labels else value for value, labels in field_values(kind).items())
    return FieldCard(name=name[:200], type=field_type(kind), values=tuple(one[:200] for one in values)[:1000])


def describe(answer: Answer) -> dict[str, Any]:
    """Return the fields of an answer that may leave; `wire.AnswerFields` names each of them."""
    text = answer.public_text if answer.stopped == "public" else answer.text
    # null in place of numbers that JSON lacks
    described: dict[str, Any] = json.loads(
        json.dumps(answer.describe(show_public=False)), parse_constant=lambda _: None
    )
    return described | {"text": text.strip()}
