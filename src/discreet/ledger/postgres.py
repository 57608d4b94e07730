"""The ledger of a vault in PostgreSQL: one schema of a database, which several machines may share."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from sqlalchemy import Engine

from discreet.ledger.flights import alone_by_server
from discreet.ledger.ledger import LogLedger
from discreet.ledger.records import Grant
from discreet.ledger.sqlite import SqliteLedger, copied
from discreet.log import chain
from discreet.log.postgres import PostgresSchema
from discreet.privacy.accounting import Budget


class PostgresLedger(LogLedger):
    """A `VaultLedger` in a PostgreSQL schema. `create` makes it, and `open` opens it."""

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
        self._schema, self.name = PostgresSchema(url, name), name
        super().__init__(self._schema, snapshot)

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

    def copy(self, path: Path) -> SqliteLedger:
        """Copy the ledger to a file that is permanently marked as a simulation. This ledger does not change.

        Raises:
            LedgerError: if a file exists at `path`, if it cannot be written, or if the database is out of reach.
        """
        return copied(self, path)

    def alone(self, key: bytes) -> AbstractContextManager[None]:
        """Wait for a flight on all machines that share the ledger, and hold it for the block."""
        return alone_by_server(self._engine, self.name, key)

    @property
    def _engine(self) -> Engine:
        return self._schema.engine
