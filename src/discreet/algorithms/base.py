"""The interface of all algorithms that answer a question: guarantee, price, payment and run.

A private algorithm has two parts that can be combined freely:

- retrieval selects the units that take part: by rank, above a threshold, in noisy bins, or by a noisy count;
- generation makes an answer of their documents: consensus, token votes, sparse votes, keywords (`ensemble`).

`VoterEnsemble` retrieves by rank. `PrivateRAG` combines another retrieval with any ensemble. Each algorithm of a paper
is such a combination, in one file.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import Field, asdict, dataclass, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, TypeVar

from discreet.models.capabilities import Capability
from discreet.models.protocol import VotingModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Cost
from discreet.privacy.filter import Receipt, ReceiptShown
from discreet.store.sealed_corpus import SealedCorpus
from discreet.system.markup import fill
from discreet.system.plain import Sparse, Unbounded, frame, show_as, to_plain

ANY_VOCABULARY = 1000
"""A vocabulary size for plans without a model: no cost depends on it."""


@dataclass(frozen=True)
class Plan:
    """The most that a question may cost: public.

    Attributes:
        ceiling: the question's own budget.
        round: the cost of one private token, or of the whole answer.
        rounds: the number of rounds that the ceiling pays for.
        selection: the cost of the selection of units, before the first round; None if it costs nothing.
    """

    ceiling: Budget
    round: Cost
    rounds: int
    selection: Cost | None = None

    @cached_property
    def max_cost(self) -> Spending:
        """The most that the question can spend."""
        return self.generation_cost + self.selection_cost

    def price(self, grant: Budget) -> float:
        """Return the most that the question costs by itself, epsilon: at the order of the grant, or of its ceiling.

        Both are fixed before any draw.
        """
        alone = self.ceiling.spent(self.max_cost) if self.ceiling.delta <= grant.delta else math.inf
        return min(grant.spent(self.max_cost), alone)

    @cached_property
    def selection_cost(self) -> Spending:
        """The cost of the selection of units."""
        return Spending.of(self.selection) if self.selection else Spending.nothing()

    @cached_property
    def generation_cost(self) -> Spending:
        """The most that all rounds can cost."""
        return Spending.of(self.round, self.rounds)


Stopped = Literal["end", "length", "budget", "undecided", "public"]
SCHEMA: Final = 1
"""The version of an answer as plain data (`AnswerShown`). A new key keeps it; a changed meaning raises it."""


@dataclass(frozen=True)
class Support:
    """The number of units that gave the released answer. It was paid with the answer.

    Attributes:
        count: the number, with noise; at most `of`, if that is released. None if it was not released.
        low, high: the interval. For each answer by itself, the probability that it is released and the true number is
            outside is at most 0.05. Without a count there is no `high`: that fewer than `low` units are enough is so
            improbable.
        of: the number of units that could have given it, with noise; 0 if it was not released.
    """

    count: int | None
    low: int
    high: int | None
    of: int = 0

    def __post_init__(self) -> None:
        # Both have noise. A part that is larger than the whole is known to be false; the interval still covers.
        most = self.of or self.low if self.count is None else min(self.count, self.of or self.count)
        object.__setattr__(self, "count", None if self.count is None else most)
        object.__setattr__(self, "low", min(self.low, most))


@dataclass(frozen=True)
class Figure:
    """A number of a statistic, with the interval that follows from the noise. It covers with probability 0.95.

    Attributes:
        name: what the number is of: a value, a group or a period.
        kind: "count" (of units), "share" (between 0 and 1), "difference" (of two shares, or of two counts) or "number".
        value: the number.
        low, high: the interval; an end is infinite if units of an unknown number may be missing.
    """

    name: str
    kind: str
    value: float
    low: Unbounded
    high: Unbounded


@dataclass(frozen=True)
class NoisyCounts:
    """Noisy counts of disjoint sets of units, with the public law of their noise. Each has its own, independent noise.

    Attributes:
        counts: the counts.
        deviations: the standard deviation of the noise of each.
        gaussian: whether the noise is Gaussian, of all or of each; else Laplace.
        unable: how many units at most are not counted, since they could not pay; None if it may be any number.
    """

    counts: tuple[int, ...]
    deviations: tuple[float, ...]
    gaussian: bool | tuple[bool, ...] = True
    unable: int | None = 0

    @property
    def laws(self) -> tuple[bool, ...]:
        """Whether the noise of each count is Gaussian."""
        return (self.gaussian,) * len(self.counts) if isinstance(self.gaussian, bool) else self.gaussian


@dataclass(frozen=True)
class GeneratedAnswer:
    """The output of an algorithm, before its receipt is attached.

    Attributes:
        text: the released answer; empty if nothing was released.
        stopped: "end" (the model ended it), "length" (the maximum), "budget" (the remaining budget could not pay for
            another token), "undecided" (the voters did not agree on a token), "public" (nothing was released from
            documents).
        tokens: the number of tokens in the answer.
        private_tokens: the number of tokens that were paid for. It is public: each payment is a released decision.
        released: the values that were paid for as a whole: the short answer, or keywords in alphabetical order.
        shares: noisy numbers of votes for each public choice, if they were requested and paid for.
        support: the noisy number of units that gave the answer, if it was released with it.
        table: the numbers of a statistic.
        counts: the noisy counts from which the numbers of a statistic follow, if they do.
        public_text: the model's answer without documents, perhaps invented. Present if nothing was released, or if a
            consensus released the same answer.
    """

    text: str
    stopped: Stopped
    tokens: int
    private_tokens: int = 0
    released: tuple[str, ...] = ()
    shares: dict[str, int] | None = None
    support: Support | None = None
    table: tuple[Figure, ...] = ()
    counts: NoisyCounts | None = None
    public_text: str = ""

    @classmethod
    def unreleased(cls, public_text: str, tokens: int) -> "GeneratedAnswer":
        """Return a draft without an answer: nothing was released from documents."""
        return cls("", "public", tokens, public_text=public_text)

    @property
    def same_without_documents(self) -> bool:
        """Whether the model gives the released answer without documents, too: they may have had no effect."""
        return self.stopped != "public" and bool(self.public_text.strip())

    @property
    def text_or_public(self) -> str:
        """The answer; if none was released, the model's own. For evaluation only, not for analysts."""
        return self.public_text if self.stopped == "public" else self.text


@dataclass(frozen=True)
class UnitCost:
    """The largest cost of an answer for any one unit, under the vault's grant: public.

    Attributes:
        epsilon: the most that the answer, by itself, may have cost any one unit.
        granted: the epsilon that all answers together may cost any one unit.
        uses: the number of such questions in which one unit can take part if each has the largest cost. If some cost
            less, the unit can take part in more. None if unknown.
    """

    epsilon: float
    granted: float
    uses: int | None = None


@dataclass(frozen=True)
class Answer(GeneratedAnswer):
    """An answer with its receipt and its cost.

    Attributes:
        algorithm: the name of the algorithm.
        receipt: the payment, and its meaning.
        remaining: the remaining epsilon of the grant if every unit pays for every question. None if units pay
            individually, since the remaining budget of one unit is private.
        cost: the largest cost of the answer for any one unit. None if no grant is known.
        useless: the reason, by public rules, why the released answer has no content; empty otherwise.
        kept: false if the answer could not be stored for free repetition.
        asked: the question that was asked, if it is another one than that which was given; empty otherwise.
        understood: of a statistic, its kind and its parts, as the question was understood; empty otherwise.
        released_at: the minutes in which the releases left that the answer repeats or follows from, if it was free.
        follows: whether it follows from other releases; false if it is one of them again.
        unable: how many units at most could not pay for a new answer; None if it may be any number: public.
    """

    algorithm: str = ""
    receipt: Receipt | None = None
    remaining: float | None = None
    cost: UnitCost | None = None
    useless: str = ""
    kept: bool = True
    asked: str = ""
    understood: str = ""
    released_at: tuple[str, ...] = ()
    follows: bool = False
    unable: int | None = 0

    @classmethod
    def of(
        cls, generated: GeneratedAnswer, algorithm: str, receipt: Receipt, remaining: float | None = None
    ) -> "Answer":
        """Return the generated answer with its receipt."""
        parts = {field.name: getattr(generated, field.name) for field in fields(GeneratedAnswer)}
        return cls(**parts, algorithm=algorithm, receipt=receipt, remaining=remaining)

    @property
    def answer(self) -> str | None:
        """The text, if a useful answer was released; else None."""
        return None if self.stopped == "public" or self.useless else self.text

    def shown(self, show_public: bool = False, question: str | None = None) -> "AnswerShown":
        """Return the answer as it leaves: the object of `discreet ask --json` (docs/reference.md).

        Args:
            show_public: whether the object has `public_answer`, the model's answer without documents.
            question: the question, if the object is to have it.
        """
        return show_as(
            AnswerShown,
            self,
            question=question,
            schema=SCHEMA,
            useless=bool(self.useless),
            private=self.receipt.private if self.receipt else False,
            released=self.released or ((self.text,) if self.useless else ()),
            receipt=self.receipt.shown() if self.receipt else None,
            public_answer=self.public_text or None if show_public else "",
        )

    def describe(self, show_public: bool = False) -> dict[str, Any]:
        """Return the answer as plain data: `shown`."""
        return to_plain(self.shown(show_public))

    def to_pandas(self) -> Any:
        """Return the numbers of a statistic as a `pandas.DataFrame`, a row for each; empty if there are none.

        Raises:
            MissingPart: if pandas is not installed.
        """
        return frame((asdict(one) for one in self.table), [field.name for field in fields(Figure)])

    def _repr_html_(self) -> str:
        return fill("answer.html", answer=self.describe(), useless=self.useless)


@dataclass(frozen=True, kw_only=True)
class AnswerShown(Sparse):
    """An answer as it leaves.

    Attributes:
        question: the question; only where several questions are asked by one command.
        schema: the version of this schema: a key with another meaning raises it.
        answer: the released text; None: nothing was released, or what was released says nothing.
        useless: whether something was released that says nothing by public rules.
        same_without_documents: whether the model says the same without documents.
        stopped: why the answer ended; "public": nothing was released.
        algorithm: the algorithm that answered.
        private: whether the answer has a guarantee.
        tokens: the number of tokens of the answer.
        private_tokens: the number of tokens, or of whole answers, that were paid for.
        released: what was paid for as a whole: the short answer, or keywords in alphabetical order.
        shares: noisy numbers of votes by choice; None without --vote-shares.
        support: how many units gave the answer; None where nothing is known of it.
        table: the numbers of a statistic, each with an interval that covers with probability 0.95.
        receipt: what was paid, and what it means; None if nothing states a payment.
        cost: the largest cost for any one unit; None: the answer has no guarantee, or comes from a synthetic corpus.
        remaining: the rest of the grant where every unit pays; None where units pay: what one has left is private.
        kept: whether the release is in the history; false if it could not be written.
        released_at: the minutes in which the releases left that a free answer repeats or follows from, UTC; absent if
            none.
        asked: the question that was asked in place of the given one; absent if it was.
        understood: how a question for a statistic was understood: its kind and its parts; absent for another question.
        unable: how many units at most could not pay, since earlier questions used up their grant; null: it may be any
            number; absent if none.
        public_answer: what the model says without documents; only with --show-public.
    """

    question: str | None = None
    schema: Literal[1]
    answer: str | None
    useless: bool
    same_without_documents: bool
    stopped: Stopped
    algorithm: str
    private: bool
    tokens: int
    private_tokens: int
    released: tuple[str, ...]
    shares: dict[str, int] | None
    support: Support | None
    table: tuple[Figure, ...]
    receipt: ReceiptShown | None
    cost: UnitCost | None
    remaining: float | None
    kept: bool
    released_at: tuple[str, ...] = ()
    asked: str = ""
    understood: str = ""
    unable: int | None = 0
    public_answer: str | None = ""


class Guarantee(StrEnum):
    """The kinds of guarantee of an algorithm.

    Attributes:
        DP: differential privacy, with the epsilon and delta on the receipt.
        CLAIMED: a published bound that does not cover the released values (docs/privacy-details.md).
        NONE: no guarantee.
    """

    DP = "differential privacy"
    CLAIMED = "a published claim, no guarantee"
    NONE = "none"


@dataclass(frozen=True)
class Query:
    """A question for an algorithm.

    Attributes:
        text: the question.
        public: the text that the public prompt reads in place of a document, such as earlier answers; empty for none.
        search: the text that documents are compared with, if it is not the question: a function of the question alone.
    """

    text: str
    public: str = ""
    search: str = ""

    @property
    def searched(self) -> str:
        """The text that documents are compared with."""
        return self.search or self.text


class Input(StrEnum):
    """What an algorithm reads, beside the question.

    Attributes:
        MODEL: what a language model writes. Without it no model is loaded, and the answer depends on no earlier one.
        PASSAGES: the passages of the documents that are near the question, by the embedder.
        READINGS: what was read of the documents before (`discreet code`), in place of a model's answers.
        RECORDS: the records of the units.
        PROPOSALS: public answers that are candidates of the vote (`propose_answers`).
    """

    MODEL = "model"
    PASSAGES = "passages"
    READINGS = "readings"
    RECORDS = "records"
    PROPOSALS = "proposals"


@dataclass(frozen=True)
class AlgorithmSpec:
    """What an algorithm declares: all that planning, pricing, admission, the command line and the server read of it.

    Attributes:
        payment: which units pay.
        capabilities: what the model must be able to do; checked before anything is paid.
        inputs: what it reads. Most read passages and a model.
        guarantee: the kind of guarantee. Only an algorithm without one reads documents in the clear.
        choices: the public answers to choose among; empty if any answer can be released.
        counts_choices: whether it also releases noisy numbers of votes for each choice.
    """

    payment: Payment
    capabilities: frozenset[Capability] = frozenset()
    inputs: frozenset[Input] = frozenset({Input.MODEL, Input.PASSAGES})
    guarantee: Guarantee = Guarantee.DP
    choices: tuple[str, ...] = ()
    counts_choices: bool = False

    @property
    def private(self) -> bool:
        """Whether the answers have a guarantee."""
        return self.guarantee is Guarantee.DP

    @property
    def needs_model(self) -> bool:
        """Whether a model is asked."""
        return Input.MODEL in self.inputs

    @property
    def needs_readings(self) -> bool:
        """Whether it votes by what was read of the documents before."""
        return Input.READINGS in self.inputs


class Algorithm(ABC):
    """A way to answer a question. Subclasses are frozen dataclasses; their fields are the parameters.

    Attributes:
        name: the name for `discreet ask --algorithm`.
        spec: what the algorithm declares. A class without one is refused before anything is recorded. An instance may
            declare more than its class, as its parameters say (`declare`).
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    name: ClassVar[str]
    spec: ClassVar[AlgorithmSpec]

    @abstractmethod
    def plan(self, budget: Budget, vocabulary: int) -> Plan | None:
        """Return the most that a question may cost, or None if it costs nothing.

        Args:
            budget: the most that any unit may spend in all its questions.
            vocabulary: the number of tokens of the model's vocabulary.

        Raises:
            UsageError: if the budget is too small for any answer.
        """

    @abstractmethod
    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Answer `query` from `corpus`. Every release is paid through `account`, within `plan`.

        Raises:
            BudgetExhausted: if the account cannot pay.
        """

    def declare(self, **changes: Any) -> None:
        """Change parts of the spec of this instance, from its parameters: called by `__post_init__`."""
        object.__setattr__(self, "spec", replace(type(self).spec, **changes))


def is_declared(algorithm: object) -> bool:
    """Return whether an algorithm, or its class, declares who pays and what it promises."""
    spec: Any = getattr(algorithm, "spec", None)
    sound = type(spec) is AlgorithmSpec  # a subclass could state another `private`
    return sound and isinstance(spec.payment, Payment) and isinstance(spec.guarantee, Guarantee)


A = TypeVar("A", bound=Algorithm)


def with_epsilon(algorithm: A, epsilon: float) -> A:
    """Return an algorithm for a question of `epsilon`; the algorithm itself if its price is no parameter.

    Its rounds are as precise as that allows: no price of a single token stays given.
    """
    own: dict[str, Any] = {"epsilon": epsilon, "epsilon_token": None}
    if isinstance(inner := getattr(algorithm, "inner", None), Algorithm):
        own["inner"] = with_epsilon(inner, epsilon)
    names = {one.name for one in fields(algorithm)}
    return replace(algorithm, **{name: value for name, value in own.items() if name in names})
