"""The record of a question in a ledger."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.encoding import CORRUPT
from discreet.privacy.accounting import Budget, Spending


@dataclass(frozen=True)
class QuestionRecord:
    """The record of a question.

    Attributes:
        id: the id of the question.
        time: the time of its start, UTC, ISO 8601.
        algorithm: the name of the algorithm.
        text: the text of the question, if the vault keeps texts.
        private: whether the answer has a guarantee.
        stopped: the reason for the end of the answer; None after a crash or an interruption.
        charges: the number of payments.
        epsilon: the epsilon of these payments alone, under the vault's budget.
        spending: the sum of the payments.
    """

    id: str
    time: str
    algorithm: str
    text: str | None
    private: bool
    stopped: str | None
    charges: int
    epsilon: float
    spending: Spending

    def describe(self) -> dict[str, Any]:
        """Return the record as plain data."""
        content = {
            "id": self.id,
            "time": self.time,
            "algorithm": self.algorithm,
            "private": self.private,
            "stopped": self.stopped,
            "charges": self.charges,
            "epsilon": self.epsilon if self.private else None,
        }
        return content | ({"question": self.text} if self.text is not None else {})


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
