"""Requests of analysts for more budget, which the custodian approves or denies."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from discreet.errors import UnknownName, UsageError
from discreet.server.accounts.keys import moment
from discreet.server.accounts.tables import REQUESTS

PENDING, APPROVED, DENIED = "pending", "approved", "denied"
LONGEST_REASON = 500
MOST_PENDING = 5
"""How many requests of one key may wait for an answer."""
LARGEST = 1e6


@dataclass(frozen=True)
class BudgetRequest:
    """A request for more budget.

    Attributes:
        id: its number.
        key: the key's id.
        epsilon: how much more is asked for.
        reason: why, in the analyst's words: untrusted text.
        state: "pending", "approved" or "denied".
        made: when it was made.
        decided: when the custodian decided; None if it is pending.
    """

    id: int
    key: str
    epsilon: float
    reason: str
    state: str
    made: datetime
    decided: datetime | None

    def describe(self) -> dict[str, Any]:
        """Return the request as plain data."""
        return {
            "id": self.id,
            "key": self.key,
            "epsilon": self.epsilon,
            "reason": self.reason,
            "state": self.state,
            "made": self.made.isoformat(timespec="seconds"),
            "decided": self.decided.isoformat(timespec="seconds") if self.decided else None,
        }


def add_request(connection: Connection, key: str, epsilon: float, reason: str, now: float) -> BudgetRequest:
    """Record a request. Control characters of the reason become spaces.

    Raises:
        UsageError: if epsilon or the reason is out of range, or too many requests of the key are pending.
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    if not (0 < epsilon <= LARGEST and math.isfinite(epsilon)):
        raise UsageError("The epsilon of a request is a finite number above 0. Ask for less.")
    if not 0 < len(text) <= LONGEST_REASON:
        raise UsageError(f"The reason of a request has 1 to {LONGEST_REASON} characters. Shorten it.")
    mine = (REQUESTS.c.key == key) & (REQUESTS.c.state == PENDING)
    waiting = connection.execute(select(func.count()).select_from(REQUESTS).where(mine)).scalar_one()
    if waiting >= MOST_PENDING:
        raise UsageError(f"{MOST_PENDING} requests of this key are pending. Wait for the custodian.")
    values = {"key": key, "epsilon": epsilon, "reason": text, "made": now, "state": PENDING}
    number = connection.execute(insert(REQUESTS).values(values).returning(REQUESTS.c.id)).scalar_one()
    return read_request(connection, number)


def read_request(connection: Connection, number: int) -> BudgetRequest:
    """Return a request.

    Raises:
        UnknownName: if there is none of that number.
    """
    row = connection.execute(select(REQUESTS).where(REQUESTS.c.id == number)).one_or_none()
    if row is None:
        known = [str(one.id) for one in list_requests(connection, pending=True)]
        raise UnknownName("pending request", str(number), known or ["(none)"])
    return _request(row)


def list_requests(connection: Connection, *, pending: bool) -> list[BudgetRequest]:
    """Return the requests, the oldest first; those that are pending alone, or all."""
    chosen = select(REQUESTS).order_by(REQUESTS.c.id)
    return [
        _request(row) for row in connection.execute(chosen.where(REQUESTS.c.state == PENDING) if pending else chosen)
    ]


def decide(connection: Connection, number: int, state: str, now: float) -> BudgetRequest:
    """Approve or deny a pending request. Returns it.

    Raises:
        UnknownName: if there is none of that number.
        UsageError: if it was decided before.
    """
    found = read_request(connection, number)
    if found.state != PENDING:
        raise UsageError(
            f"Request {number} was {found.state} before. List what is pending: discreet key requests VAULT"
        )
    connection.execute(update(REQUESTS).where(REQUESTS.c.id == number).values(state=state, decided=now))
    return read_request(connection, number)


def _request(row: Row[Any]) -> BudgetRequest:
    decided = None if row.decided is None else moment(row.decided)
    return BudgetRequest(row.id, row.key, row.epsilon, row.reason, row.state, moment(row.made), decided)
