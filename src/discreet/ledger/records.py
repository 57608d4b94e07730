"""The grant of a ledger, and the record of a question."""

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from discreet.errors import LedgerError, VaultVersionError
from discreet.log import CORRUPT
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import ORDERS

_ORDERS_DIGEST = hashlib.sha256(ORDERS.astype("<f8").tobytes()).hexdigest()[:16]


@dataclass(frozen=True)
class Grant:
    """What a ledger grants: the first row of its log, which never changes.

    Attributes:
        budget: the most that any unit may spend.
        log_questions: whether to keep the texts of questions.
        simulation: whether insecure noise is allowed, for experiments.
        ledger: a random name, so that no two ledgers have the same chain.
    """

    budget: Budget
    log_questions: bool
    simulation: bool
    ledger: str = field(default_factory=lambda: secrets.token_hex(16))

    def pack(self) -> bytes:
        """Return the grant as JSON, which gives back the exact numbers."""
        return json.dumps(asdict(self) | {"orders": _ORDERS_DIGEST}, sort_keys=True).encode()

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Return the grant from JSON.

        Raises:
            LedgerError: if it is damaged.
            VaultVersionError: if it was made for other Renyi orders.
        """
        try:
            found = json.loads(content)
            orders, budget = found.pop("orders"), Budget(**found.pop("budget"))
            grant = cls(budget, **found)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise LedgerError(CORRUPT) from None
        if orders != _ORDERS_DIGEST:
            raise VaultVersionError(
                f"The ledger has the Renyi orders {orders}; this version of discreet has {_ORDERS_DIGEST}. "
                "Open the vault with the version of discreet that made it."
            )
        return grant


@dataclass(frozen=True)
class LogStart:
    """Since when a log has who took part in what, and what is known of the logs that were closed before.

    Attributes:
        time: the time of its first row, UTC, ISO 8601.
        questions, answered: the number of questions in closed logs, and of those that have an end.
        tables: the tables of the database with rows of closed logs.
    """

    time: str
    questions: int
    answered: int
    tables: tuple[str, ...]

    def describe(self) -> dict[str, Any]:
        """Return the start as plain data."""
        return {"since": self.time, "earlier_questions": self.questions, "closed_logs": list(self.tables)}


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
