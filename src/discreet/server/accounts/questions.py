"""Questions of keys: whether one may be asked, what the same request found, and what is charged.

A question, its key's meter and the pool of its vault follow from one row. So a crash leaves a key charged at the
ceiling of what was in flight, never less.

Time never goes back here: if the clock does, the time of the newest question counts until the clock has passed it.
"""

import math
from dataclasses import dataclass
from typing import Any

from discreet.server.accounts.books import BY_NAME, Asked, Books
from discreet.server.accounts.database import Reading, Writing
from discreet.server.accounts.keys import Key
from discreet.server.accounts.meters import Charged, Meter, refusal
from discreet.server.accounts.outcomes import (
    InFlight,
    Mismatch,
    NotValid,
    Outcome,
    RateLimited,
    Recalled,
    Replay,
    Reservation,
    Settled,
)

BY_CONTENT = 600.0
"""Seconds for which the same request finds the question that was asked."""


@dataclass(frozen=True)
class Asking:
    """A question that a key is about to ask.

    Attributes:
        key: the key's id.
        question: the question's id, the same as in the vault's ledger.
        vault: the vault.
        model: the model, as the analyst named it.
        most: the most that it may cost any one unit.
        request: the mark of what makes it the same request.
        name: the mark of the client's Idempotency-Key; None if it sent none.
        anew: whether it is asked again although it was answered.
        server: the server that asks it, where several share the accounts.
    """

    key: str
    question: str
    vault: str
    model: str
    most: Charged
    request: str
    name: str | None = None
    anew: bool = False
    server: str = ""


@dataclass(frozen=True)
class Admitted:
    """A question that fits the caps of its key.

    Attributes:
        key: the key.
        meter: what it has spent before.
    """

    key: Key
    meter: Meter


def check(found: Reading, asking: Asking, now: float) -> Outcome | Admitted:
    """Return that a question may be asked; or a refusal, or what the same request found."""
    key = found.books.key(asking.key)
    if key is None or not key.is_valid(now) or asking.vault not in key.vaults:
        return NotValid()
    recalled = find(found, asking.key, asking.request, asking.name, now, anew=asking.anew)
    if recalled is not None:
        return recalled
    if (limited := _check_rate(found.books, key, now)) is not None:
        return limited
    meter = found.books.meter(key)
    return refusal(meter, key, asking.vault, asking.most) or Admitted(key, meter)


def write(found: Writing, asking: Asking, admitted: Admitted, now: float) -> Reservation:
    """Charge a key for a question at its ceiling.

    It belongs into the transaction that admitted the question: else two questions could both take what is left.
    """
    most, meter = asking.most, admitted.meter
    content = {name: getattr(asking, name) for name in ("key", "vault", "model", "request", "name", "server")}
    content |= {"asked": now, "epsilon": most.epsilon, "delta": most.delta}
    found.append("reserve", asking.question, content, most.spending)
    return Reservation(asking.question, asking.key, meter.budget.left(meter.spending + most.spending))


def settle(
    found: Writing, one: Asked, spent: Charged, reply: dict[str, Any] | None, stopped: str, now: float
) -> Settled:
    """Charge a key what its question has spent, in place of the ceiling, and keep the reply.

    A charge never grows: if more was spent than reserved, the ceiling stays. Settling again changes nothing.
    """
    if one.most is None:
        return Settled(new=False)
    exceeded = not spent.spending.within(one.most)
    epsilon, delta = (one.epsilon, one.delta) if exceeded else (spent.epsilon, spent.delta)
    content = {"settled": now, "stopped": stopped, "epsilon": epsilon, "delta": delta}
    found.append("settle", one.id, content, one.most if exceeded else spent.spending)
    if reply is not None:
        found.keep_reply(one.id, reply, now)
    return Settled(new=True, exceeded=exceeded)


def find(
    found: Reading, key: str, request: str, name: str | None, now: float, *, anew: bool = False
) -> Recalled | None:
    """Return what the same request of a key found before; None if it is to be asked.

    The same request is one with the same Idempotency-Key within a day, or with the same content within ten minutes. An
    `anew` one with another Idempotency-Key, or with none, joins a question in flight, and does not get a stored reply.
    A question that left no reply is asked again.
    """
    if name is not None and (known := find_named(found, key, request, name, now)) is not None:
        return known
    one = found.books.alike(key, request)
    recalled = None if one is None else _recalled(found, one)
    if one is None or recalled is None or isinstance(recalled, InFlight):
        return recalled  # in flight, however long it takes
    recent = one.settled is not None and one.settled > now - BY_CONTENT
    return recalled if recent and not anew else None


def find_named(found: Reading, key: str, request: str, name: str, now: float) -> Recalled | None:
    """Return what the same Idempotency-Key of a key found before, within a day; None if it found nothing."""
    one = found.books.named(key, name, now - BY_NAME)
    if one is None:
        return None
    return Mismatch() if one.request != request else _recalled(found, one, named=True)


def _recalled(found: Reading, one: Asked, *, named: bool = False) -> InFlight | Replay | None:
    if one.settled is None:
        return InFlight(one.id)
    reply = found.reply(one.id)
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
