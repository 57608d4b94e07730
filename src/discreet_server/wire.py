"""The schema of the wall between the front and the keeper: all that can leave, and all that can come in.

A message is a JSON object. The path to which it is sent names its kind; its reply is of one kind, or a refusal. Values
are checked where a message is made, and again where it is read. A field that the schema does not have is refused.

    Question -> Answered    Estimate -> Estimated    Condense -> Condensed    Catalog -> Catalogued    Ready -> Readied
"""

from collections.abc import AsyncIterable
from dataclasses import dataclass as plain_dataclass
from dataclasses import field
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypeVar, dataclass_transform, get_args

import numpy as np
from pydantic import ConfigDict, Field, GetPydanticSchema, TypeAdapter
from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict  # the one of `typing` lacks what pydantic needs before Python 3.12

from discreet.config import LARGEST_EPSILON, SMALLEST_EPSILON
from discreet.errors import DiscreetError
from discreet.privacy.accounting import ATTO, CUT, Budget, Spending
from discreet.privacy.costs import ORDERS
from discreet.system.words import LONGEST_CONDENSED, LONGEST_TURN, MOST_TURNS

_STRICT = ConfigDict(
    strict=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True, revalidate_instances="always"
)
"""For every message and its parts: none is converted, infinite, extra or unchecked, and no error repeats a value."""
MOST_TOKENS = 4096
"""Of an answer."""
LONGEST_TEXT = 65_536
"""Characters: of a question, and of an answer. No model of a vault writes more than a few thousand tokens."""

Lane = Literal["records", "voters"]
LANES: tuple[Lane, ...] = get_args(Lane)
"""The kinds of questions by the time of their answers: from what is kept of the documents, or by the model's votes."""

Word = Annotated[str, Field(max_length=200)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Reason = Annotated[str, Field(max_length=10_000)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Size = Annotated[float, Field(ge=0.0)]
Epsilon = Annotated[float, Field(ge=0.0, le=LARGEST_EPSILON)]
AskedEpsilon = Annotated[float, Field(ge=SMALLEST_EPSILON, le=LARGEST_EPSILON)]
Choice = Annotated[str, Field(min_length=1, max_length=1000)]
Delta = Annotated[float, Field(ge=0.0, le=1.0)]
Value = Annotated[float, Field(ge=-1e300, le=1e300)]
Count = Annotated[int, Field(ge=0, le=10**6)]
One = Annotated[int, Field(ge=1, le=1)]  # `Literal[1]` would take 1.0 and true
Yes = Annotated[bool, Field(ge=True)]
Whole = Annotated[int, Field(ge=-(2**53), le=2**53)]
Id = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
Population = Annotated[tuple[Name, ...], Field(max_length=32)]
"""Tests of declared fields that bind a key."""
Seconds = Annotated[dict[Lane, Size], Field(min_length=len(LANES))]
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Message:
    """A message, or a part of one: each subclass is a frozen dataclass whose values pydantic checks."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, config=_STRICT)(cls)


class Call(Message, Generic[R_co]):
    """A message that is sent for a reply of the kind in brackets."""


class WireError(DiscreetError):
    """Bytes that are no message of the schema. Their content is never in the error's text."""


def one_of(*names: str) -> str:
    """Return the pattern of a text that is one of `names`."""
    return f"^({'|'.join(names)})$"


# --- what an answer may have ------------------------------------------------------------------------------------------


class ChargeFields(TypedDict):
    """One charge of a receipt. A claim has no place here: an algorithm without a guarantee is not served."""

    mechanism: Reason
    change: Word
    cost: dict[Literal["kind", "epsilon", "delta", "rho", "order", "price", "times", "costs"], Size | Reason | None]
    times: Annotated[int, Field(ge=1, le=10**6)]


class ReceiptNumbers(TypedDict):
    """The receipt of an answer without its charges."""

    epsilon: Size | None
    delta: Delta | None
    relation: Word
    unit: Word
    accountant: Word
    noise: Word
    private: Yes
    payment: Literal["every unit", "each unit that took part", "nobody"]
    reused: Count
    each: Count
    public_corpus: Word
    caveat: Literal[""]
    assumed: NotRequired[Annotated[list[Reason], Field(max_length=32)]]


class ReceiptFields(ReceiptNumbers):
    """The receipt of an answer."""

    charges: Annotated[list[ChargeFields], Field(max_length=10_000)]


class SupportFields(TypedDict):
    """How many units are behind an answer."""

    count: Whole | None
    low: Whole
    high: Whole | None
    of: Whole


class FigureFields(TypedDict):
    """A number of a table."""

    name: Text
    kind: Word
    value: Value
    low: Value | None
    high: Value | None


class PriceFields(TypedDict):
    """What an answer cost."""

    epsilon: Size
    granted: Size
    uses: Annotated[int, Field(ge=0, le=10**9)] | None


class AnswerFields(TypedDict):
    """Every field of an answer that may leave the keeper (`Answer.describe`), and no other.

    `text` is what was released; if `stopped` is "public", what the model says without documents, perhaps invented.
    """

    schema: One
    answer: Text | None
    useless: bool
    same_without_documents: bool
    stopped: Literal["end", "length", "budget", "undecided", "public"]
    algorithm: Word
    private: Yes
    tokens: Count
    private_tokens: Count
    released: Annotated[list[Text], Field(max_length=1000)]
    shares: Annotated[dict[Text, Whole], Field(max_length=1000)] | None
    support: NotRequired[SupportFields | None]
    table: NotRequired[Annotated[list[FigureFields], Field(max_length=10_000)]]
    receipt: ReceiptFields
    cost: PriceFields | None
    remaining: Size | None
    kept: bool
    released_at: NotRequired[Annotated[list[Word], Field(max_length=1000)]]
    asked: NotRequired[Text]
    understood: NotRequired[Text]
    unable: NotRequired[Annotated[int, Field(ge=0, le=10**15)] | None]
    text: Text


# --- what is replied --------------------------------------------------------------------------------------------------


class UnitCharge(Message):
    """What any one unit pays at most, in whole numbers: `privacy.accounting.Spending`.

    Attributes:
        epsilon: what it amounts to by itself.
        delta: its failure probability.
        loss_nano: the Renyi divergence at each order. Unit: 1e-9 nat.
        failure_atto: the failure probability. Unit: 1e-18.
    """

    epsilon: Epsilon
    delta: Delta
    loss_nano: Annotated[
        tuple[Annotated[int, Field(ge=0, le=CUT)], ...], Field(min_length=len(ORDERS), max_length=len(ORDERS))
    ] = field(repr=False)
    failure_atto: Annotated[int, Field(ge=0, le=ATTO)]

    @classmethod
    def of(cls, spending: Spending, budget: Budget) -> "UnitCharge":
        """Return the charge of a spending under the grant `budget`."""
        losses = tuple(int(loss) for loss in spending.loss_nano)
        epsilon = min(float(budget.spent(spending)), LARGEST_EPSILON)
        return cls(epsilon, float(spending.delta), losses, int(spending.failure_atto))

    @classmethod
    def nothing(cls) -> "UnitCharge":
        """Return the charge of what is free."""
        return cls(0.0, 0.0, (0,) * len(ORDERS), 0)

    @property
    def is_something(self) -> bool:
        """Whether anything is paid."""
        return bool(self.failure_atto or any(self.loss_nano))

    @property
    def spending(self) -> Spending:
        """The charge as a sum of costs, to be added to others."""
        return Spending(np.array(self.loss_nano, dtype=np.int64), self.failure_atto)


class Estimated(Message):
    """What a question would cost.

    Attributes:
        most: the most that any one unit pays if the question is answered anew.
        free: whether the answer costs nothing: it was released before, or reads no document.
        lane: which time the answer takes: it follows from the question, before its turn.
        understood: what is asked, as a request in words; "" for a question to the public corpus.
    """

    most: UnitCharge
    free: bool
    lane: Lane
    understood: Text = ""


class Answered(Message):
    """An answer.

    Attributes:
        answer: its public fields: `AnswerFields`.
        spent: what any one unit paid at most.
    """

    answer: Annotated[dict[str, Any], GetPydanticSchema(lambda _, schema: schema(AnswerFields))]
    spent: UnitCharge


class Condensed(Message):
    """The rewritten question.

    Attributes:
        question: its text; "" if the model wrote no usable question.
    """

    question: Annotated[str, Field(max_length=LONGEST_CONDENSED)]


CODES = (
    "invalid_request",
    "question_too_long",
    "cannot_answer",
    "price_changed",
    "vault_budget_exhausted",
    "model_not_found",
    "interrupted",
    "starting",
    "stopping",
    "ledger_unavailable",
    "store_unavailable",
    "internal_error",
)
"""Why a question is refused. No text of an error passes the wall."""


class Refused(Message):
    """A refusal.

    Attributes:
        code: one of `CODES`.
        asked: the epsilon that was asked for, if a budget is exhausted.
        left: the epsilon that is left.
        would_fit: the largest epsilon of such a question that fits.
        kind: of a question that cannot be answered, which kind it is.
        paid: what any one unit paid at most before it was broken off.
    """

    code: Annotated[str, Field(pattern=one_of(*CODES))]
    asked: Epsilon | None = None
    left: Epsilon | None = None
    would_fit: Epsilon | None = None
    kind: Annotated[str, Field(pattern="^[a-z-]{0,40}$")] = ""
    paid: UnitCharge = field(default_factory=UnitCharge.nothing)


class ModelCard(Message):
    """A model that can be asked: a preset of a vault.

    Attributes:
        name: as in `Question.model`; "" for the vault's default.
        algorithm: how it answers.
        private: whether it reads documents, and pays for it; if not, it is free.
        most: the most that a question costs any one unit.
    """

    name: Word
    algorithm: Word
    private: bool
    most: UnitCharge


class FieldCard(Message):
    """A declared field of a vault.

    Attributes:
        name: its name.
        type: "date", "category" or "number".
        values: the public values of a category, each with other words for it; none if none were declared.
    """

    name: Name
    type: Word
    values: Annotated[tuple[Name, ...], Field(max_length=1000)] = ()


class VaultCard(Message):
    """A vault that is served, in public values.

    Attributes:
        name: as in `Question.vault`.
        unit: the word for an individual.
        epsilon: the grant.
        delta: the grant's.
        payment: who pays, "unit" or "corpus".
        language: the code of the language that the model reads; "" if it is not known.
        models: what can be asked.
        longest_answer_s: seconds that the longest answer of each lane took on public dummies.
        fields: its declared fields.
        read: the attributes for which its documents were read under a schema.
    """

    name: Name
    unit: Word
    epsilon: Epsilon
    delta: Delta
    payment: Annotated[str, Field(pattern=one_of("unit", "corpus"))]
    language: Word
    models: Annotated[tuple[ModelCard, ...], Field(max_length=1000)]
    longest_answer_s: Seconds
    fields: Annotated[tuple[FieldCard, ...], Field(max_length=1000)] = ()
    read: Annotated[tuple[Name, ...], Field(max_length=1000)] = ()


class Catalogued(Message):
    """The vaults that are served."""

    vaults: Annotated[tuple[VaultCard, ...], Field(max_length=1000)]

    def longest(self) -> dict[Lane, float]:
        """Return the seconds of the longest answer of each lane, in any of the vaults."""
        return {lane: max((one.longest_answer_s[lane] for one in self.vaults), default=0.0) for lane in LANES}


class Readied(Message):
    """Whether the keeper can answer."""

    loaded: bool
    ledger_writable: bool


WireReply = Answered | Estimated | Condensed | Catalogued | Readied | Refused


# --- what is asked ----------------------------------------------------------------------------------------------------


class Question(Call[Answered]):
    """A question of an analyst.

    Attributes:
        id: 32 hexadecimal digits, chosen by the front: the question's id in the vault's ledger, too.
        vault: the name of the vault, as analysts write it.
        model: the name of a preset; "" for the vault's default.
        question: its text.
        choices: the public answers among which to choose; none for an answer in words.
        epsilon: the most that it may cost; the preset's if None.
        max_tokens: the longest answer; the preset's if None.
        anew: whether to pay again for a question that was answered before.
        ceiling: the most that any one unit may pay; a question that may cost more is refused before it is paid. None
            in an estimate.
        begun, quantum: when the reply leaves: at a multiple of the quantum after `begun`, in seconds since 1970.
        lane: of which lane the quantum is; a question that turns out to be of another one is refused, unpaid.
        earlier: the caller's own messages before it, and the replies to them: words that are no misspelled ones.
        where: tests of declared fields that bind its key: it is asked among the units that pass them, too.
    """

    id: Id
    vault: Name
    model: Word
    question: Text
    choices: Annotated[tuple[Choice, ...], Field(max_length=64)] = ()
    epsilon: AskedEpsilon | None = None
    max_tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS)] | None = None
    anew: bool = False
    ceiling: UnitCharge | None = None
    begun: Size = 0.0
    quantum: Size = 0.0
    lane: Lane = "voters"
    earlier: Annotated[tuple[Annotated[str, Field(max_length=LONGEST_TURN)], ...], Field(max_length=MOST_TURNS)] = ()
    where: Population = ()


class Estimate(Call[Estimated]):
    """A request for what a question would cost at most, from public values alone.

    Attributes:
        question: the question.
        air: the ids of the vault's questions whose replies have not left. Nothing of them is in the estimate.
    """

    question: Question
    air: Annotated[tuple[Id, ...], Field(max_length=1000)] = ()


@plain_dataclass(frozen=True)
class Turn:
    """A message of a chat. It is checked as a part of `Condense`: the front has longer ones, and cuts them.

    Attributes:
        role: "user" or "assistant".
        text: its text.
    """

    role: Annotated[str, Field(pattern=one_of("user", "assistant"))]
    text: Annotated[str, Field(min_length=1, max_length=LONGEST_TURN)]


class Condense(Call[Condensed]):
    """A request to rewrite the last message of a chat as a question that stands alone. No document is read for it.

    Attributes:
        vault: the name of the vault whose model rewrites it.
        messages: the messages, oldest first; the last one is the user's.
    """

    vault: Name
    messages: Annotated[tuple[Turn, ...], Field(max_length=MOST_TURNS)]


class Catalog(Call[Catalogued]):
    """A request for the vaults and their models."""


class Ready(Call[Readied]):
    """A request for whether the keeper can answer.

    Attributes:
        idle: whether the reply waits until all questions that came before are answered.
    """

    idle: bool = False


# --- bytes ------------------------------------------------------------------------------------------------------------


class Wire(NamedTuple):
    """What may cross one socket.

    Attributes:
        kinds: the kinds of messages.
        refused: the kind of a refusal.
        most_asked, most_replied: bytes of the longest message, and of the longest reply.
    """

    kinds: tuple[type[Call[Any]], ...]
    refused: type[Any]
    most_asked: int
    most_replied: int


ANALYSTS = Wire(
    (Question, Estimate, Condense, Catalog, Ready),
    Refused,
    most_asked=256 * 1024,
    most_replied=4 * 1024 * 1024,  # a catalog of many vaults is long
)


def path_of(kind: type[Any]) -> str:
    """Return the path to which messages of a kind are sent."""
    return f"/{kind.__name__.lower()}"


def reply_of(kind: type[Call[T]]) -> type[T]:
    """Return the kind of the reply to a kind of message."""
    (reply,) = get_args(kind.__orig_bases__[0])  # type: ignore[attr-defined]
    return reply  # type: ignore[no-any-return]


async def collect(parts: AsyncIterable[bytes], most: int) -> bytes:
    """Return the whole of a body.

    Raises:
        WireError: if it has more than `most` bytes.
    """
    content = bytearray()
    async for part in parts:
        content += part
        if len(content) > most:
            raise WireError(f"A message has more than {most} bytes. Run the same version everywhere.")
    return bytes(content)


def encode(message: Any) -> bytes:
    """Return the bytes of a message, which was checked when it was made."""
    return TypeAdapter(type(message)).dump_json(message)


def decode(kind: type[T], content: bytes) -> T:
    """Return the message of a kind that bytes hold. Each message has one spelling: the one that `encode` writes.

    Raises:
        WireError: if they hold none: no JSON, a field too many, too few or twice, or a value out of range.
    """
    try:
        message = TypeAdapter(kind).validate_json(content)
        if encode(message) == content:
            return message
    except ValueError:
        pass
    raise WireError(f"A message does not match the schema of {kind.__name__}. Run the same version everywhere.")
