"""The ledger of a vault in one SQLite file."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from sqlalchemy import Engine

from discreet.ledger.flights import alone_by_file
from discreet.ledger.ledger import LogLedger
from discreet.ledger.records import Grant
from discreet.log import chain
from discreet.log.sqlite import SqliteFile
from discreet.privacy.accounting import Budget


class SqliteLedger(LogLedger):
    """A `VaultLedger` in a file. `create` makes it, and `open` opens it. A snapshot of a large one is beside it."""

    def __init__(self, path: Path) -> None:
        """Open an existing ledger. A read-only ledger can be opened, but not charged.

        Raises:
            LedgerError: if the ledger is missing or corrupt. Nothing may be released without it.
            VaultVersionError: if the ledger has another format or other Renyi orders.
        """
        self._file = SqliteFile(path)
        self.path = self._file.path
        super().__init__(self._file, self.path.with_name(f"{self.path.name}-snapshot"))

    @classmethod
    def create(cls, path: Path, budget: Budget, *, log_questions: bool = False, simulation: bool = False) -> Self:
        """Create a ledger with its final grant. Return the ledger.

        Args:
            path: the path of the file, in an existing folder.
            budget: the grant.
            log_questions: whether to keep the texts of questions.
            simulation: whether insecure noise is allowed, for experiments. This mark is permanent.

        Raises:
            LedgerError: if a file exists at `path`, or if it cannot be written.
        """
        grant = Grant(budget, log_questions, simulation)
        SqliteFile(path).make(lambda connection: chain.make(connection, grant.pack()))
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing ledger: see `__init__`."""
        return cls(path)

    def copy(self, path: Path) -> "SqliteLedger":
        """Copy the ledger to a file that is permanently marked as a simulation. This ledger does not change.

        Raises:
            LedgerError: if a file exists at `path`, or if it cannot be written.
        """
        return copied(self, path)

    def alone(self, key: bytes) -> AbstractContextManager[None]:
        """Wait for a flight on this machine, and hold it for the block."""
        return alone_by_file(self.path.parent, key)

    @property
    def _engine(self) -> Engine:
        return self._file.engine


def copied(ledger: LogLedger, path: Path) -> SqliteLedger:
    """Copy a ledger to a new file at `path`, marked as a simulation from the start.

    Raises:
        LedgerError: if a file exists at `path`, if it cannot be written, or if the ledger is out of reach.
    """
    SqliteFile(path).make(ledger.fill_copy)
    return SqliteLedger.open(path)
