"""The messages between the front and the keeper. `wire` turns them into bytes, and checks every field."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import ORDERS

MOST_EPSILON = 1e9
"""The largest epsilon that is spoken of."""


@dataclass(frozen=True)
class Charge:
    """What any one unit pays at most, in whole numbers: `privacy.accounting.Spending`.

    Attributes:
        epsilon: what it amounts to by itself.
        delta: its failure probability.
        loss_nano: the Renyi divergence at each order. Unit: 1e-9 nat.
        failure_atto: the failure probability. Unit: 1e-18.
    """

    epsilon: float
    delta: float
    loss_nano: tuple[int, ...] = field(repr=False)
    failure_atto: int

    @classmethod
    def of(cls, spending: Spending, budget: Budget) -> "Charge":
        """Return the charge of a spending under the grant `budget`."""
        losses = tuple(int(loss) for loss in spending.loss_nano)
        epsilon = min(float(budget.spent(spending)), MOST_EPSILON)
        return cls(epsilon, float(spending.delta), losses, int(spending.failure_atto))

    @classmethod
    def nothing(cls) -> "Charge":
        """Return the charge of what is free."""
        return cls(0.0, 0.0, (0,) * len(ORDERS), 0)

    @property
    def is_something(self) -> bool:
        """Whether anything was paid."""
        return bool(self.failure_atto or any(self.loss_nano))

    @property
    def spending(self) -> Spending:
        """The charge as a sum of costs, to be added to others."""
        return Spending(np.array(self.loss_nano, dtype=np.int64), self.failure_atto)


@dataclass(frozen=True)
class Question:
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
    """

    id: str
    vault: str
    model: str
    question: str
    choices: tuple[str, ...] = ()
    epsilon: float | None = None
    max_tokens: int | None = None
    anew: bool = False
    ceiling: Charge | None = None
    begun: float = 0.0
    quantum: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """A request for what a question would cost at most, from public values alone.

    Attributes:
        question: the question.
        air: the ids of the vault's questions whose replies have not left. Nothing of them is in the estimate.
    """

    question: Question
    air: tuple[str, ...] = ()


@dataclass(frozen=True)
class Turn:
    """A message of a chat.

    Attributes:
        role: "user" or "assistant".
        text: its text.
    """

    role: str
    text: str


@dataclass(frozen=True)
class Condense:
    """A request to rewrite the last message of a chat as a question that stands alone. No document is read for it.

    Attributes:
        vault: the name of the vault whose model rewrites it.
        messages: the messages, oldest first; the last one is the user's.
    """

    vault: str
    messages: tuple[Turn, ...]


@dataclass(frozen=True)
class Catalog:
    """A request for the vaults and their models."""


@dataclass(frozen=True)
class Ready:
    """A request for whether the keeper can answer."""


@dataclass(frozen=True)
class Estimated:
    """What a question would cost.

    Attributes:
        most: the most that any one unit pays if the question is answered anew.
        free: whether the answer costs nothing: it was released before, or reads no document.
    """

    most: Charge
    free: bool


@dataclass(frozen=True)
class Answered:
    """An answer: what `Answer.describe` has, and nothing that the allow-list lacks (`wire_answer`).

    Attributes:
        answer: its public fields, and `text`: what was released; if `stopped` is "public", what the model says
            without documents, perhaps invented.
        spent: what any one unit paid at most.
    """

    answer: dict[str, Any]
    spent: Charge


@dataclass(frozen=True)
class Condensed:
    """The rewritten question.

    Attributes:
        question: its text; "" if the model wrote no usable question.
    """

    question: str


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


@dataclass(frozen=True)
class Refused:
    """A refusal.

    Attributes:
        code: one of `CODES`.
        asked: the epsilon that was asked for, if a budget is exhausted.
        left: the epsilon that is left.
        would_fit: the largest epsilon of such a question that fits.
        kind: of a question that cannot be answered, which kind it is.
        paid: what any one unit paid at most before it was broken off.
    """

    code: str
    asked: float | None = None
    left: float | None = None
    would_fit: float | None = None
    kind: str = ""
    paid: Charge = field(default_factory=Charge.nothing)


@dataclass(frozen=True)
class ModelCard:
    """A model that can be asked: a preset of a vault.

    Attributes:
        name: as in `Question.model`; "" for the vault's default.
        algorithm: how it answers.
        private: whether it reads documents, and pays for it; if not, it is free.
        most: the most that a question costs any one unit.
    """

    name: str
    algorithm: str
    private: bool
    most: Charge


@dataclass(frozen=True)
class VaultCard:
    """A vault that is served, in public values.

    Attributes:
        name: as in `Question.vault`.
        unit: the word for an individual.
        epsilon: the grant.
        delta: the grant's.
        payment: who pays, "unit" or "corpus".
        language: the code of the language that the model reads; "" if it is not known.
        models: what can be asked.
        longest_answer_s: seconds that the longest answer took on public dummies.
    """

    name: str
    unit: str
    epsilon: float
    delta: float
    payment: str
    language: str
    models: tuple[ModelCard, ...]
    longest_answer_s: float


@dataclass(frozen=True)
class Catalogued:
    """The vaults that are served."""

    vaults: tuple[VaultCard, ...]


@dataclass(frozen=True)
class Readied:
    """Whether the keeper can answer."""

    loaded: bool
    ledger_writable: bool


Asked = Question | Estimate | Condense | Catalog | Ready
Reply = Answered | Estimated | Condensed | Catalogued | Readied | Refused
Message = Asked | Reply
