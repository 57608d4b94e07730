"""The ledger of a vault in one SQLite file."""

from pathlib import Path
from typing import Self

from discreet.ledger.ledger import LogLedger
from discreet.ledger.records import Grant
from discreet.log import chain
from discreet.log.sqlite import SqliteFile
from discreet.privacy.accounting import Budget


class SqliteLedger(LogLedger):
    """A `LogLedger` in a file. `create` makes it, and `open` opens it. A snapshot of a large one is beside it."""

    path: Path

    def __init__(self, path: Path) -> None:
        """Open an existing ledger. A read-only ledger can be opened, but not charged.

        Raises:
            LedgerError: if the ledger is missing or corrupt. Nothing may be released without it.
            VaultVersionError: if the ledger has another format or other Renyi orders.
        """
        file = SqliteFile(path)
        super().__init__(file, file.path.with_name(f"{file.path.name}-snapshot"))

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
