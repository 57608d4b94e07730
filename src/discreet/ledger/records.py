"""The grant of a ledger, and the record of a question."""

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass, field
from typing import Self

from discreet.errors import LedgerError, VaultVersionError
from discreet.log import CORRUPT
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import ORDERS
from discreet.system.plain import Sparse, Unbounded, show_as

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

    def shown(self) -> "LogShown":
        """Return the start as it leaves."""
        return LogShown(self.time, self.questions, self.tables)


@dataclass(frozen=True)
class LogShown:
    """Since when the ledger's log lists questions and who took part in them.

    Attributes:
        since: the time of its first row, UTC, ISO 8601.
        earlier_questions: the number of questions in logs that were closed.
        closed_logs: tables of the database with rows of logs that were closed.
    """

    since: str
    earlier_questions: int
    closed_logs: tuple[str, ...]


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

    def shown(self) -> "QuestionShown":
        """Return the record as it leaves."""
        return show_as(QuestionShown, self, epsilon=self.epsilon if self.private else None, question=self.text)


@dataclass(frozen=True, kw_only=True)
class QuestionShown(Sparse):
    """A question, with its cost.

    Attributes:
        id: an identifier.
        time: the moment, UTC, ISO 8601.
        algorithm: the algorithm.
        private: whether there is a guarantee.
        stopped: why the answer ended; None after a crash or an interruption.
        charges: the number of charges.
        epsilon: the most that the question cost any one unit; None without a guarantee.
        question: its text; absent if the vault keeps no texts of questions.
    """

    id: str
    time: str
    algorithm: str
    private: bool
    stopped: str | None
    charges: int
    epsilon: Unbounded | None
    question: str | None = None
