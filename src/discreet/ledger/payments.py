"""The payments of each question and synthetic corpus, from charges and from parts that units paid.

A part that is not settled yet counts with its whole reservation.
"""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from discreet.errors import LedgerError
from discreet.ledger.encoding import CORRUPT, counted, stream, unpack, unpack_part
from discreet.ledger.records import QuestionRecord
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.ledger import APART

_PARTS = "select question, part, most_nano, most_atto, spent_nano, spent_atto, charges from part"


def paid(connection: Connection) -> dict[str, tuple[int, Spending]]:
    """Return, for each question's id, the number of its payments and their largest cost for a unit.

    Raises:
        LedgerError: if the ledger is damaged.
    """
    found: dict[str, tuple[int, Spending]] = {}
    apart: dict[str, Spending] = {}

    def add(question: str, charges: int, spending: Spending) -> None:
        before, spent = found.get(question, (0, Spending.nothing()))
        found[question] = before + charges, spent + spending

    for row in stream(connection, "select question, nano, atto from charge"):
        add(row.question, 1, unpack(row.nano, row.atto))
    for row in stream(connection, _PARTS):
        spent = counted(*unpack_part(row))
        if row.part >= APART:
            apart[row.question] = apart.get(row.question, Spending.nothing()).or_more(spent)
            spent = Spending.nothing()
        add(row.question, _count(row.charges), spent)
    for question, spent in apart.items():
        add(question, 0, spent)
    return found


def record_of(row: Mapping[Any, Any], budget: Budget, charges: int, spending: Spending | None) -> QuestionRecord:
    """Return the record of a question from its row and its payments; None for `spending` without a payment.

    Raises:
        LedgerError: if the row is damaged.
    """
    texts, may_be_none = (row["id"], row["time"], row["algorithm"]), (row["text"], row["stopped"])
    if not (all(isinstance(one, str) for one in texts) and all(isinstance(o, str | None) for o in may_be_none)):
        raise LedgerError(CORRUPT)
    return QuestionRecord(
        id=row["id"],
        time=row["time"],
        algorithm=row["algorithm"],
        text=row["text"],
        private=bool(row["private"]),
        stopped=row["stopped"],
        charges=charges,
        epsilon=0.0 if spending is None else budget.spent(spending),
        spending=Spending.nothing() if spending is None else spending,
    )


def _count(charges: str | None) -> int:
    """Return the number of charges of a part."""
    try:
        return len(json.loads(charges)) if charges else 0
    except (ValueError, TypeError, RecursionError):
        raise LedgerError(CORRUPT) from None
