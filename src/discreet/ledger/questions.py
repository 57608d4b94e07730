"""What the rows of a log say about questions: for reports of the custodian, which may read the whole log."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from discreet.errors import LedgerError
from discreet.ledger.balances import (
    BEGIN,
    CHARGE,
    FINISH,
    RESERVE,
    SETTLE,
    Numbers,
    counted,
    dearest,
    payers_of,
    settled,
    spending,
)
from discreet.ledger.records import QuestionRecord
from discreet.log import CORRUPT
from discreet.log.chain import Row
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.filter import APART

EXPORT = "export-vectors"
"""The algorithm of a question that released vectors."""


@dataclass(frozen=True)
class Corpus:
    """A synthetic corpus that was paid for: payments of an id that no question has.

    Attributes:
        id: the id of its payments.
        epsilon: the largest cost for a unit.
        time: the time of the first payment, UTC, ISO 8601; empty with unit payment.
        mechanisms: the mechanisms of the draws, if the ledger has them.
    """

    id: str
    epsilon: float
    time: str
    mechanisms: tuple[str, ...]


class Costs:
    """What questions paid, from their rows.

    A part that is not settled yet counts with its whole reservation. Parts without a common unit cost as much as the
    dearest of them. The settlement of a part that a closed log reserved counts nothing: the reservation counted there.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._parts = defaultdict[str, dict[tuple[str, int], Spending]](dict)
        self._charges = defaultdict[str, int](int)
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Add the next row."""
        key, parts = (RESERVE, row.part), self._parts
        if row.kind == SETTLE:
            if row.question not in parts:
                return
            parts[row.question][key] = counted(parts[row.question].get(key, spending(row)), spending(row))
            self._charges[row.question] += len(settled(row)[0])
        elif row.kind in (CHARGE, RESERVE):
            parts[row.question][row.kind, row.part] = spending(row)
            self._charges[row.question] += row.kind == CHARGE

    def charges(self, question: str) -> int:
        """Return the number of payments of a question."""
        return self._charges.get(question, 0)

    def spent(self, question: str) -> Spending | None:
        """Return the largest cost of a question for a unit; None if it paid nothing."""
        parts = self._parts.get(question)
        if parts is None:
            return None
        together = (cost for (_, part), cost in parts.items() if part < APART)
        return sum(together, Spending.nothing()) + dearest(cost for (_, part), cost in parts.items() if part >= APART)

    def questions(self) -> list[str]:
        """Return the ids of all questions that paid, in the order of their first payments."""
        return list(self._parts)


def list_records(rows: Iterable[Row], budget: Budget) -> list[QuestionRecord]:
    """Return the questions in the order of their arrival, with their payments."""
    costs, began, ends = Costs(), list[Row](), dict[str, str]()
    for row in rows:
        costs.add(row)
        if row.kind == BEGIN:
            began.append(row)
        elif row.kind == FINISH:
            ends[row.question] = row.content.decode()
    return [_record(row, ends.get(row.question), costs, budget) for row in began]


def list_corpora(rows: Iterable[Row], budget: Budget) -> list[Corpus]:
    """Return the synthetic corpora that were paid for, the oldest first."""
    costs, asked = Costs(), set[str]()
    times, mechanisms = dict[str, str](), defaultdict[str, list[str]](list)
    for row in rows:
        costs.add(row)
        if row.kind == BEGIN:
            asked.add(row.question)
        elif row.kind == CHARGE:
            times.setdefault(row.question, time_of(row))
            mechanisms[row.question].append(_parsed(row)["mechanism"])
        elif row.kind == SETTLE:
            mechanisms[row.question] += [charge["mechanism"] for charge in settled(row)[0]]
    return [
        Corpus(name, budget.spent(spent), times.get(name, ""), tuple(dict.fromkeys(mechanisms[name])))
        for name in costs.questions()
        if name not in asked and (spent := costs.spent(name)) is not None
    ]


def questions_of(rows: Iterable[Row], numbers: Numbers) -> frozenset[str]:
    """Return the ids of the questions that a unit with these numbers paid for alone."""
    return frozenset(
        row.question
        for row in rows
        if row.kind == RESERVE and row.content and bool(np.isin(payers_of(row.content), numbers).any())
    )


def _record(row: Row, stopped: str | None, costs: Costs, budget: Budget) -> QuestionRecord:
    about, spent = _parsed(row), costs.spent(row.question)
    try:
        return QuestionRecord(
            id=row.question,
            time=time_of(row),
            algorithm=about["algorithm"],
            text=about["text"],
            private=about["private"],
            stopped=stopped,
            charges=costs.charges(row.question),
            epsilon=0.0 if spent is None else budget.spent(spent),
            spending=Spending.nothing() if spent is None else spent,
        )
    except (KeyError, TypeError):
        raise LedgerError(CORRUPT) from None


def _parsed(row: Row) -> Any:
    try:
        return json.loads(row.content)
    except (ValueError, RecursionError):
        raise LedgerError(CORRUPT) from None


def time_of(row: Row) -> str:
    """Return the time of a row, UTC, ISO 8601."""
    return datetime.fromtimestamp(row.time, UTC).isoformat(timespec="seconds")
