"""Questions of keys: reserved at their ceiling, settled afterwards, and kept for the same request for a while.

A question's row, its key's meter and the pool of its vault change in one transaction. So a crash leaves a key charged
at the ceiling of what was in flight, never less.

Time never goes back here: if the clock does, the time of the newest question counts until the clock has passed it.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from discreet.privacy.accounting import Spending
from discreet.server.accounts import names
from discreet.server.accounts.flights import of_server
from discreet.server.accounts.keys import Key, moment, read_key
from discreet.server.accounts.meters import Meter, change_meter, charge, read_meter, refusal
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
from discreet.server.accounts.sums import Charged, from_bytes, to_bytes
from discreet.server.accounts.tables import QUESTIONS

BY_CONTENT, BY_NAME = 600.0, 86_400.0
"""Seconds for which the same request, and the same Idempotency-Key, find the question that was asked."""


# Statements of each question are made once: to make one takes longer than to run it.
_LAST_TIME = select(func.max(QUESTIONS.c.asked))
_OF_ID = QUESTIONS.c.id == bindparam("of_id")
_BY_ID = select(QUESTIONS).where(_OF_ID)
_ADD, _SETTLE = insert(QUESTIONS), update(QUESTIONS).where(_OF_ID)
_OF_KEY = select(QUESTIONS).where(QUESTIONS.c.key == bindparam("of_key"))
_NEWEST = _OF_KEY.order_by(QUESTIONS.c.asked.desc(), QUESTIONS.c.id.desc()).limit(1)
_ALIKE = _NEWEST.where(QUESTIONS.c.fingerprint == bindparam("of_request"))
_NAMED = _NEWEST.where(QUESTIONS.c.idempotency == bindparam("of_name"), QUESTIONS.c.asked > bindparam("since"))


@dataclass(frozen=True)
class Asking:
    """A question that a key is about to ask.

    Attributes:
        key: the key's id.
        question: the question's id, the same as in the vault's ledger.
        vault: the vault.
        model: the model, as the analyst named it.
        most: the most that it may cost any one unit.
        fingerprint: a hash of the fields that make it the same request.
        idempotency: the client's Idempotency-Key; None if it sent none.
        anew: whether it is asked again although it was answered.
    """

    key: str
    question: str
    vault: str
    model: str
    most: Charged
    fingerprint: str
    idempotency: str | None = None
    anew: bool = False


@dataclass(frozen=True)
class Admitted:
    """A question that fits the caps of its key.

    Attributes:
        key: the key.
        meter: what it has spent before.
    """

    key: Key
    meter: Meter


def now_of(connection: Connection, clock: Callable[[], float]) -> float:
    """Return the time: the clock's, or that of the newest question if the clock was set back."""
    newest = connection.execute(_LAST_TIME).scalar()
    return max(clock(), newest or 0.0)


def check(connection: Connection, asking: Asking, now: float) -> Outcome | Admitted:
    """Return that a question may be asked; or a refusal, or what the same request found."""
    key = read_key(connection, asking.key)
    if key is None or not key.is_valid(now) or asking.vault not in key.vaults:
        return NotValid()
    found = find(connection, asking.key, asking.fingerprint, asking.idempotency, now, anew=asking.anew)
    if found is not None:
        return found
    if (limited := _check_rate(connection, key, now)) is not None:
        return limited
    meter = read_meter(connection, key)
    return refusal(meter, key, asking.vault, asking.most) or Admitted(key, meter)


def write(connection: Connection, asking: Asking, admitted: Admitted, now: float) -> Reservation:
    """Charge a key for a question at its ceiling, and keep the record of the question.

    It belongs into the transaction that admitted the question: else two questions could both take what is left.
    """
    most = asking.most
    charge(connection, admitted.key, asking.vault, most.spending)
    row = {
        "id": asking.question,
        "key": asking.key,
        "vault": asking.vault,
        "model": asking.model,
        "asked": now,
        "lost": False,
        "fingerprint": asking.fingerprint,
        "idempotency": asking.idempotency,
        "epsilon": most.epsilon,
        "delta": most.delta,
        "loss": to_bytes(most.spending),
        "failures": most.spending.failure_atto,
        "stopped": "",
    }
    connection.execute(_ADD, row)
    meter = admitted.meter
    return Reservation(asking.question, asking.key, meter.budget.left(meter.spending + most.spending))


def settle(
    connection: Connection, question: str, spent: Charged, reply: dict[str, Any] | None, stopped: str, now: float
) -> Settled | None:
    """Charge a key what its question has spent, in place of the ceiling, and keep the reply.

    A charge never grows: if more was spent than reserved, the ceiling stays. Settling again changes nothing.
    Returns None if there is no such question.
    """
    row = _row(connection, question)
    if row is None:
        return None
    if row.settled is not None:
        return Settled(new=False)
    most, paid = from_bytes(row.loss, row.failures), spent.spending
    exceeded = not paid.within(most)
    if not exceeded:
        key = read_key(connection, row.key)
        assert key is not None  # keys are never deleted
        change_meter(connection, key, row.vault, most, paid)
    kept = (
        {"epsilon": row.epsilon, "delta": row.delta} if exceeded else {"epsilon": spent.epsilon, "delta": spent.delta}
    )
    text = None if reply is None else json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
    values = {"settled": now, "loss": None, "failures": None, "stopped": stopped, "reply": text}
    connection.execute(_SETTLE, {"of_id": question} | values | kept)
    return Settled(new=True, exceeded=exceeded)


def find(
    connection: Connection, key: str, fingerprint: str, idempotency: str | None, now: float, *, anew: bool = False
) -> Recalled | None:
    """Return what the same request of a key found before; None if it is to be asked.

    The same request is one with the same Idempotency-Key within a day, or with the same content within ten minutes. An
    `anew` one with another Idempotency-Key, or with none, joins a question in flight, and does not get a stored reply.
    A question that was lost in a crash, or that left no reply, is asked again.
    """
    if idempotency is not None and (known := find_named(connection, key, fingerprint, idempotency, now)) is not None:
        return known
    row = connection.execute(_ALIKE, {"of_key": key, "of_request": fingerprint}).one_or_none()
    if row is None:
        return None
    found = _recalled(row)
    if isinstance(found, InFlight):
        return found  # however long it takes
    recent = (row.asked if row.settled is None else row.settled) > now - BY_CONTENT
    return found if recent and not anew else None


def find_named(connection: Connection, key: str, fingerprint: str, idempotency: str, now: float) -> Recalled | None:
    """Return what the same Idempotency-Key of a key found before, within a day; None if it found nothing."""
    named = {"of_key": key, "of_name": idempotency, "since": now - BY_NAME}
    row = connection.execute(_NAMED, named).one_or_none()
    other = names.find(connection, key, idempotency, now - BY_NAME)
    for one in (row, None if other is None else _row(connection, other)):
        if one is not None and one.fingerprint != fingerprint:
            return Mismatch()
        if one is not None and (found := _recalled(one, named=True)) is not None:
            return found
    return None


def receipts(connection: Connection, key: str, *, before: str | None, limit: int) -> list[dict[str, Any]]:
    """Return the receipts of a key, the newest first; those older than the question `before` if it is given."""
    chosen = QUESTIONS.c.key == key
    if before is not None:
        row = _row(connection, before)
        if row is None or row.key != key:
            return []
        older = QUESTIONS.c.asked < row.asked
        chosen &= older | ((QUESTIONS.c.asked == row.asked) & (QUESTIONS.c.id < row.id))
    newest = select(QUESTIONS).where(chosen).order_by(QUESTIONS.c.asked.desc(), QUESTIONS.c.id.desc())
    return [_receipt(row) for row in connection.execute(newest.limit(limit))]


def asked(connection: Connection, *, since: float, skip: int, limit: int | None) -> list[dict[str, Any]]:
    """Return the receipts of all keys, each with its `key`, the newest first: for the custodian."""
    newest = select(QUESTIONS).where(QUESTIONS.c.asked >= since)
    newest = newest.order_by(QUESTIONS.c.asked.desc(), QUESTIONS.c.id.desc()).offset(skip).limit(limit)
    return [_receipt(row) | {"key": row.key} for row in connection.execute(newest)]


def receipt(connection: Connection, key: str, question: str) -> dict[str, Any] | None:
    """Return the receipt of a question; None if the key has not asked it."""
    row = _row(connection, question)
    return _receipt(row) if row is not None and row.key == key else None


def mark_lost(connection: Connection, server: str = "") -> list[str]:
    """Mark the questions that are in flight as lost; they stay charged at their ceiling. Returns their ids.

    Args:
        connection: a writing transaction.
        server: the server that left them behind; "" if no other one uses the accounts.
    """
    open_ones = QUESTIONS.c.settled.is_(None) & QUESTIONS.c.lost.is_(False)
    if server:
        open_ones &= of_server(server)
    found = list(connection.execute(select(QUESTIONS.c.id).where(open_ones).order_by(QUESTIONS.c.asked)).scalars())
    connection.execute(update(QUESTIONS).where(open_ones).values(lost=True, stopped="interrupted"))
    return found


def list_lost(connection: Connection, server: str = "") -> list[str]:
    """Return the ids of the questions that are lost and not settled: of a server, or of all."""
    lost = QUESTIONS.c.settled.is_(None) & QUESTIONS.c.lost.is_(True)
    if server:
        lost &= of_server(server)
    return list(connection.execute(select(QUESTIONS.c.id).where(lost).order_by(QUESTIONS.c.asked)).scalars())


def unsettled(connection: Connection) -> dict[str, Spending]:
    """Return the questions that are not settled, with what their keys are charged for them."""
    rows = connection.execute(select(QUESTIONS).where(QUESTIONS.c.settled.is_(None)).order_by(QUESTIONS.c.asked))
    return {row.id: from_bytes(row.loss, row.failures) for row in rows}


def forget_replies(connection: Connection, now: float) -> None:
    """Delete the replies that no request can find any more."""
    old = QUESTIONS.c.reply.is_not(None) & (QUESTIONS.c.settled < now - BY_NAME)
    connection.execute(update(QUESTIONS).where(old & (QUESTIONS.c.asked < now - BY_NAME)).values(reply=None))


def _check_rate(connection: Connection, key: Key, now: float) -> RateLimited | None:
    if key.rate is None:
        return None
    count, seconds = key.rate
    recent = (QUESTIONS.c.key == key.id) & (QUESTIONS.c.asked > now - seconds)
    newest = select(QUESTIONS.c.asked).where(recent).order_by(QUESTIONS.c.asked.desc()).limit(count)
    times = list(connection.execute(newest).scalars())
    if len(times) < count:
        return None
    return RateLimited(max(1, math.ceil(times[-1] + seconds - now)))


def _recalled(row: Row[Any], *, named: bool = False) -> InFlight | Replay | None:
    if row.settled is None:
        return None if row.lost else InFlight(row.id)
    return None if row.reply is None else Replay(row.id, json.loads(row.reply), named)


def _row(connection: Connection, question: str) -> Row[Any] | None:
    if "\0" in question:  # PostgreSQL has no such text: it would be an error of the database
        return None
    return connection.execute(_BY_ID, {"of_id": question}).one_or_none()


def _receipt(row: Row[Any]) -> dict[str, Any]:
    free = row.settled is not None and row.epsilon == 0
    return {
        "question_id": row.id,
        "time": moment(row.asked).isoformat(timespec="seconds"),
        "vault": row.vault,
        "model": row.model,
        "epsilon": row.epsilon,
        "delta": row.delta,
        "settled": row.settled is not None,
        "free": free,
        "stopped": row.stopped,
    }
