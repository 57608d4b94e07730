"""Questions of keys: whether one may be asked, what the same request found, and what is charged.

A question, its key's meter and the pool of its vault follow from one row. So a crash leaves a key charged at the
ceiling of what was in flight, never less.

Time never goes back here: if the clock does, the time of the newest question counts until the clock has passed it.

Each refusal has a `code` of the front's table of errors.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sqlalchemy import Column, Float, Index, MetaData, String, Table, Text, delete, insert, select

from discreet.privacy.accounting import Spending
from discreet_server.accounts.books import BY_NAME, Books, Found, KeyQuestion, append
from discreet_server.accounts.grants import Meter, is_nothing
from discreet_server.accounts.keys import Key
from discreet_server.wire import UnitCharge

BY_CONTENT = 600.0
"""Seconds for which the same request finds the question that was asked."""
MINUTE = 60.0
UNPAID, SIGN_INS = 1200, 20
"""In a minute: so many estimates and refusals of a key at most, and so many sign-ins of a key or a person."""
_STEPS = 30
_RESERVED = ("key", "vault", "model", "asked", "request", "name", "server", "epsilon", "delta")

_ROUNDED_UP = 1e-6
"""A receipt is rounded up: a question of epsilon 1 may cost this part more."""
TABLES = MetaData()
_REPLIES = Table(
    "replies",
    TABLES,
    Column("question", String, primary_key=True),
    Column("settled", Float, nullable=False),
    Column("reply", Text, nullable=False),
)
"""The replies that the same request finds for a while. They are outside the chain, since they are deleted."""
COUNTS = Table("counts", TABLES, Column("what", String, nullable=False), Column("time", Float, nullable=False))
"""What was done within the last minute that is free: the mark of what and by whom, and when. Outside the chain, too."""
Index("counts_of", COUNTS.c.what, COUNTS.c.time)


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
    """A refusal because of a rate. Nothing was charged.

    Attributes:
        retry_after: whole seconds after which the next one is admitted.
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
Outcome = Reservation | KeyExhausted | RateLimited | NotValid | Recalled
"""What becomes of a question that is to be reserved."""


@dataclass(frozen=True)
class Settled:
    """What became of a reservation.

    Attributes:
        new: whether it was settled now; False if it was settled before, and nothing changed.
        exceeded: whether more was spent than reserved. Then the key stays charged at its ceiling.
    """

    new: bool
    exceeded: bool = False


def check(found: Found, one: KeyQuestion, *, anew: bool = False) -> Outcome:
    """Return that a question may be asked at its time; or a refusal, or what the same request found.

    Args:
        found: a transaction.
        one: the question, with its ceiling.
        anew: whether it is asked again although it was answered.
    """
    assert one.most is not None
    key = found.state.keys.get(one.key)
    if key is None or not key.is_valid(one.asked) or one.vault not in key.vaults:
        return NotValid()
    recalled = find(found, one.key, one.request, one.name, one.asked, anew=anew)
    if recalled is not None:
        return recalled
    if (limited := _check_rate(found.state, key, one.asked)) is not None:
        return limited
    meter = found.state.meter(key)
    refused = _refusal(meter, key, one, one.most)
    return refused or Reservation(one.id, one.key, meter.budget.left(meter.spending + one.most))


def write(found: Found, one: KeyQuestion) -> None:
    """Charge a key for a question at its ceiling.

    It belongs into the transaction that checked the question: else two questions could both take what is left.
    """
    append(found, "reserve", one.id, {name: getattr(one, name) for name in _RESERVED}, one.most)


def settle(
    found: Found, one: KeyQuestion, spent: UnitCharge, reply: dict[str, Any] | None, stopped: str, now: float
) -> Settled:
    """Charge a key what its question has spent, in place of the ceiling, and keep the reply.

    A charge never grows: if more was spent than reserved, the ceiling stays. Settling again changes nothing.
    """
    if one.most is None:
        return Settled(new=False)
    exceeded = not spent.spending.within(one.most)
    epsilon, delta = (one.epsilon, one.delta) if exceeded else (spent.epsilon, spent.delta)
    content = {"settled": now, "stopped": stopped, "epsilon": epsilon, "delta": delta}
    append(found, "settle", one.id, content, one.most if exceeded else spent.spending)
    if reply is not None:
        kept = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
        found.connection.execute(insert(_REPLIES), {"question": one.id, "settled": now, "reply": kept})
    return Settled(new=True, exceeded=exceeded)


def find_reply(found: Found, question: str) -> dict[str, Any] | None:
    """Return the reply that is kept for a question; None if none is."""
    kept = found.connection.execute(select(_REPLIES.c.reply).where(_REPLIES.c.question == question)).scalar()
    return None if kept is None else dict(json.loads(kept))


def forget(found: Found, now: float) -> None:
    """Delete the replies that no request can find any more, and what was counted more than a minute ago."""
    found.connection.execute(delete(_REPLIES).where(_REPLIES.c.settled < now - BY_NAME))
    found.connection.execute(delete(COUNTS).where(COUNTS.c.time <= now - MINUTE))


def check_count(found: Found, what: str, most: int, now: float) -> RateLimited | None:
    """Return the refusal of what was done `most` times within the last minute; None if it may be done."""
    recent = select(COUNTS.c.time).where(COUNTS.c.what == what, COUNTS.c.time > now - MINUTE)
    times = found.connection.execute(recent.order_by(COUNTS.c.time.desc()).limit(most)).scalars().all()
    return None if len(times) < most else RateLimited(max(1, math.ceil(times[-1] + MINUTE - now)))


def count(found: Found, what: str, most: int, now: float) -> RateLimited | None:
    """Count what is done, unless it was done `most` times within the last minute: then return the refusal."""
    if (refused := check_count(found, what, most, now)) is None:
        found.connection.execute(delete(COUNTS).where(COUNTS.c.what == what, COUNTS.c.time <= now - MINUTE))
        found.connection.execute(insert(COUNTS), {"what": what, "time": now})
    return refused


def find(found: Found, key: str, request: str, name: str | None, now: float, *, anew: bool = False) -> Recalled | None:
    """Return what the same request of a key found before; None if it is to be asked.

    The same request is one with the same Idempotency-Key within a day, or with the same content within ten minutes. An
    `anew` one with another Idempotency-Key, or with none, joins a question in flight, and does not get a stored reply.
    A question that left no reply is asked again.
    """
    if name is not None and (known := find_named(found, key, request, name, now)) is not None:
        return known
    one = found.state.alike(key, request)
    recalled = None if one is None else _recalled(found, one)
    if one is None or recalled is None or isinstance(recalled, InFlight):
        return recalled  # in flight, however long it takes
    recent = one.settled is not None and one.settled > now - BY_CONTENT
    return recalled if recent and not anew else None


def find_named(found: Found, key: str, request: str, name: str, now: float) -> Recalled | None:
    """Return what the same Idempotency-Key of a key found before, within a day; None if it found nothing."""
    one = found.state.named(key, name, now - BY_NAME)
    if one is None:
        return None
    return Mismatch() if one.request != request else _recalled(found, one, named=True)


def _recalled(found: Found, one: KeyQuestion, *, named: bool = False) -> InFlight | Replay | None:
    if one.settled is None:
        return InFlight(one.id)
    reply = find_reply(found, one.id)
    return None if reply is None else Replay(one.id, reply, named)


def _check_rate(books: Books, key: Key, now: float) -> RateLimited | None:
    if key.rate is None:
        return None
    count, seconds = key.rate
    for number, one in enumerate(books.newest_first(key.id), 1):
        if one.asked <= now - seconds:
            return None
        if number == count:
            return RateLimited(max(1, math.ceil(one.asked + seconds - now)))
    return None


def _refusal(meter: Meter, key: Key, one: KeyQuestion, extra: Spending) -> KeyExhausted | None:
    """Return why a question does not fit the caps of a key; None if it does. A free question always fits."""
    if is_nothing(extra):
        return None
    if key.per_question is not None and one.epsilon > key.per_question * (1 + _ROUNDED_UP):
        return KeyExhausted("per_question_limit", one.epsilon, meter.left, key.per_question)
    if meter.questions_left == 0:
        return KeyExhausted("key_questions_exhausted", one.epsilon, meter.left, 0.0)
    if meter.fits(extra, one.vault):
        return None
    would_fit = one.epsilon * _largest_part(lambda part: meter.fits(part, one.vault), extra)
    # Of a shared key that is within its own cap, the reserved shares of others are the limit.
    own = key.reserved or not meter.budget.admits(meter.spending + extra)
    code = "key_budget_exhausted" if own else "vault_budget_exhausted"
    return KeyExhausted(code, one.epsilon, meter.left, would_fit)


def _largest_part(fits: Callable[[Spending], bool], most: Spending) -> float:
    """Return the largest part of `most`, between 0 and 1, of which a charge fits.

    Curves grow at least in proportion to epsilon, so the same question with that part of its epsilon fits, too. Its
    failure probability stays the same.
    """
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(_part(most, middle)) else (low, middle)
    return low


def _part(spending: Spending, part: float) -> Spending:
    return Spending(np.ceil(spending.loss_nano * part).astype(np.int64), spending.failure_atto)
