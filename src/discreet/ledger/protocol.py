"""The protocol of a vault's ledger: payments, questions, and statistics for the custodian."""

from collections.abc import Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discreet.ledger.records import LogStart, QuestionRecord
from discreet.privacy.accounting import FilterState, Spending
from discreet.privacy.ledger import UnitLedger

if TYPE_CHECKING:  # the module imports a library that takes 0.2 seconds
    from discreet.log.counter import Counter, Reached


class VaultLedger(UnitLedger, Protocol):
    """A durable ledger of units, which also records questions.

    Threads and forked processes may share it: each call is one transaction.

    Attributes:
        counter: the file with the last known state of the ledger; None for a ledger without a vault.
    """

    counter: "Counter | None"

    def begin(self, question: str, algorithm: str, asked: str | None, *, private: bool = True) -> None:
        """Record that a question begins; record its text only if the vault keeps questions.

        Raises:
            LedgerError: if a question with this id began before, if the ledger cannot be written, or if it is older
                than its counter.
        """

    def began(self, question: str) -> bool:
        """Return whether a question with this id began."""

    def finish(self, question: str, stopped: str) -> None:
        """Record the reason for the end of a question.

        Raises:
            LedgerError: if no question with this id began, or if the ledger cannot be written.
        """

    def questions(self) -> list[QuestionRecord]:
        """Return all questions in the order of their arrival, with their payments."""

    def spent_at_most(self, questions: Collection[str] | None = None, *, wait: bool = False) -> Spending:
        """Return an upper bound on a unit's payments for `questions` (ids), or for all questions. It is public.

        With `wait`, it contains the payments that the database is writing now: that of a connection that broke, too.
        """

    def balance(self, unit: bytes) -> FilterState:
        """Return the charges of one unit alone. For the custodian only."""

    def questions_of(self, unit: bytes) -> frozenset[str]:
        """Return the ids of the questions that charged one unit alone. For the custodian only."""

    def count_corpora(self) -> int:
        """Return the number of synthetic corpora that were paid for."""

    def alone(self, key: bytes) -> AbstractContextManager[None]:
        """Wait until no other thread, process or machine holds `key` on this ledger, and hold it for the block."""

    def reached(self) -> "Reached":
        """Return the state of the ledger: numbers that only grow."""

    def note(self) -> None:
        """Write the state of the ledger to its counter, after payments that belong to no question."""

    def check_counter(self, counter: "Counter") -> None:
        """Check that the ledger is not older than a counter, and no other copy. Take the counter over.

        Raises:
            LedgerError: if it is older, or another copy.
        """

    def start(self) -> LogStart:
        """Return since when the log has who took part in what, and what is known of the closed logs before."""

    def close_log(self, *, keep: bool | Path = True) -> None:
        """Begin a new log with one row that has the whole state: no balance changes.

        The old rows stay in the database beside it, or are in the new file `keep`; with False, who took part in what is
        gone for good.
        """

    def copy(self, path: Path) -> "VaultLedger":
        """Return a copy in a new file, marked as a simulation. This ledger does not change.

        Raises:
            LedgerError: if a file exists at `path`, or if it cannot be written.
        """
