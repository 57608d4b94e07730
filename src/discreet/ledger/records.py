"""The records of a ledger for the custodian's reports: what a question cost, and since when the log has them.

No database is imported here: what shows a report needs none.
"""

from dataclasses import dataclass

from discreet.privacy.accounting import Spending
from discreet.system.plain import Sparse, Unbounded, show_as


@dataclass(frozen=True)
class LogStart:
    """Since when the ledger's log lists questions and who took part in them.

    Attributes:
        since: the time of its first row, UTC, ISO 8601.
        earlier_questions: the number of questions in logs that were closed.
        answered: the number of those that have an end.
        closed_logs: tables of the database with rows of logs that were closed.
    """

    since: str
    earlier_questions: int
    answered: int
    closed_logs: tuple[str, ...]


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


@dataclass(frozen=True, kw_only=True)
class QuestionRecord(QuestionShown):
    """The record of a question.

    Attributes:
        epsilon: the epsilon of its payments alone, under the vault's budget.
        spending: the sum of the payments.
    """

    epsilon: float
    spending: Spending

    def shown(self) -> QuestionShown:
        """Return the record as it leaves."""
        return show_as(QuestionShown, self, epsilon=self.epsilon if self.private else None)
