"""What a ledger remembers of a question."""

from dataclasses import dataclass
from typing import Any

from discreet.privacy.accounting import Spending


@dataclass(frozen=True)
class QuestionRecord:
    """A question that was asked.

    Attributes:
        id: its id.
        time: when it began, UTC, ISO 8601.
        algorithm: how it was answered.
        text: what was asked, if the vault keeps questions.
        private: whether its answer has a guarantee.
        stopped: why the answer ended; None if it never did (a crash, an interruption).
        charges: how many payments it made.
        epsilon: what they amount to under the vault's budget, taken by themselves.
        spending: what they add up to.
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
        """The record as plain data."""
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
