"""The record of a question in a ledger."""

from dataclasses import dataclass
from typing import Any

from discreet.privacy.accounting import Spending


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
