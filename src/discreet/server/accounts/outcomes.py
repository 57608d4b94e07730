"""What comes of asking the accounts: a reservation, a refusal, or what the same request found before.

Each refusal has a `code` of the front's table of errors.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Reservation:
    """A question that may be asked: its key is charged at the ceiling until it is settled.

    Attributes:
        question: the question's id.
        key: the key's id.
        left: the epsilon that the key then has left.
    """

    question: str
    key: str
    left: float


@dataclass(frozen=True)
class KeyExhausted:
    """A refusal because of a cap. Nothing was charged.

    Attributes:
        code: `per_question_limit`, `key_questions_exhausted`, `key_budget_exhausted`, or `vault_budget_exhausted` if
            the reserved shares of other keys leave too little.
        asked: the epsilon that was asked for.
        left: the epsilon that the key has left.
        would_fit: the largest epsilon of such a question that fits; 0 if none does.
    """

    code: str
    asked: float
    left: float
    would_fit: float


@dataclass(frozen=True)
class RateLimited:
    """A refusal because of the key's rate. Nothing was charged.

    Attributes:
        retry_after: whole seconds after which the next question is admitted.
    """

    retry_after: int
    code: ClassVar[str] = "rate_limited"


@dataclass(frozen=True)
class NotValid:
    """A refusal because the key was revoked or has expired since it was found. Nothing was charged."""

    code: ClassVar[str] = "invalid_api_key"


@dataclass(frozen=True)
class Mismatch:
    """A refusal because the Idempotency-Key was sent with another request. Nothing was charged."""

    code: ClassVar[str] = "idempotency_mismatch"


@dataclass(frozen=True)
class InFlight:
    """The same request is being answered.

    Attributes:
        question: the id of that question.
    """

    question: str


@dataclass(frozen=True)
class Replay:
    """The same request was answered.

    Attributes:
        question: the id of that question.
        reply: what was released for it.
        named: whether it was found by the Idempotency-Key.
    """

    question: str
    reply: dict[str, Any]
    named: bool = field(default=False, compare=False)


Recalled = Mismatch | InFlight | Replay
Refusal = KeyExhausted | RateLimited | NotValid | Mismatch
Outcome = Reservation | KeyExhausted | RateLimited | NotValid | Recalled


@dataclass(frozen=True)
class Settled:
    """What became of a reservation.

    Attributes:
        new: whether it was settled now; False if it was settled before, and nothing changed.
        exceeded: whether more was spent than reserved. Then the key stays charged at its ceiling.
    """

    new: bool
    exceeded: bool = False
