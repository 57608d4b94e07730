"""The records of a ledger for the custodian's reports: what a question cost, and since when the log has them.

No database is imported here: what shows a report needs none.
"""

from dataclasses import dataclass

from discreet.privacy.accounting import Spending
from discreet.system.plain import Sparse, Unbounded, show_as


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
