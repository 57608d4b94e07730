"""The ledger of a vault in PostgreSQL: one schema of a database, which several machines may share."""

from pathlib import Path
from typing import Self

from discreet.ledger.ledger import LogLedger
from discreet.ledger.records import Grant
from discreet.log import chain
from discreet.log.postgres import PostgresSchema
from discreet.privacy.accounting import Budget


class PostgresLedger(LogLedger):
    """A `LogLedger` in a PostgreSQL schema. `create` makes it, and `open` opens it."""

    def __init__(self, url: str, name: str, snapshot: Path | None = None) -> None:
        """Open an existing ledger.

        Args:
            url: the URL of the database: "postgresql://user@host/database". No error shows it.
            name: the name of the schema: "vault_" and up to 57 of the digits 0-9a-f.
            snapshot: the file of this machine for a snapshot of a large ledger; None for none.

        Raises:
            UsageError: if the URL or the name is invalid.
            MissingPart: if the driver is not installed.
            LedgerError: if the ledger is missing, corrupt or out of reach. Nothing may be released without it.
            VaultVersionError: if the ledger has another format or other Renyi orders.
        """
        self.name = name
        super().__init__(PostgresSchema(url, name), snapshot)

    @classmethod
    def create(
        cls, url: str, name: str, budget: Budget, *, log_questions: bool = False, simulation: bool = False
    ) -> Self:
        """Create a ledger with its final grant. Return the ledger.

        Args:
            url: the URL of the database.
            name: the name of the schema.
            budget: the grant.
            log_questions: whether to keep the texts of questions.
            simulation: whether insecure noise is allowed, for experiments. This mark is permanent.

        Raises:
            UsageError: if the URL or the name is invalid.
            MissingPart: if the driver is not installed.
            LedgerError: if a schema of this name exists, or if the database cannot be reached or written.
        """
        grant = Grant(budget, log_questions, simulation)
        PostgresSchema(url, name).make(lambda connection: chain.make(connection, grant.pack()))
        return cls(url, name)

    @classmethod
    def open(cls, url: str, name: str, snapshot: Path | None = None) -> Self:
        """Open an existing ledger: see `__init__`."""
        return cls(url, name, snapshot)
