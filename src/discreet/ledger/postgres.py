"""The ledger of a vault in PostgreSQL: one schema of a database, which several machines may share.

A payment locks the one row of the total first (`for update`) and is committed with `synchronous_commit=on`. On
opening, the sums must match what was paid, and the grant its seal.
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import URL, Connection, text

from discreet.errors import LedgerError, UsageError, VaultVersionError
from discreet.ledger.connections import closed, closing_with
from discreet.ledger.encoding import CORRUPT
from discreet.ledger.flights import alone_by_server
from discreet.ledger.integrity import check, write_grant
from discreet.ledger.postgres_connection import address, engine, explained, missing, transaction
from discreet.ledger.postgres_tables import OLDEST, VERSION, make_tables, migrate
from discreet.ledger.snapshot import copied
from discreet.ledger.sql import SqlLedger
from discreet.ledger.sqlite import SqliteLedger
from discreet.privacy.accounting import Budget

_NAME = re.compile(r"vault_[0-9a-f]{1,57}")


class PostgresLedger(SqlLedger):
    """A `UnitLedger` in a PostgreSQL schema. Made by `create`, found again by `open`; its grant never changes."""

    _arrival = "arrival"

    def __init__(self, url: URL, name: str) -> None:
        """For `create` and `open`, which check the ledger."""
        self.name = name
        self._engine = closing_with(self, engine(url))
        super().__init__()

    @classmethod
    def create(
        cls, url: str, name: str, budget: Budget, *, log_questions: bool = False, simulation: bool = False
    ) -> Self:
        """A new ledger with a grant, once and for all.

        Args:
            url: the address of the database: "postgresql://user@host/database". It is in no error.
            name: what its schema is called: "vault_" and up to 57 of the digits 0-9a-f.
            budget: the grant.
            log_questions: whether the text of questions is kept.
            simulation: whether insecure noise is allowed, for experiments. This mark never goes.

        Raises:
            UsageError: the address or the name is none.
            MissingPart: the driver is not installed.
            LedgerError: there is a schema of this name, or the database cannot be reached or written.
        """
        found = _checked(url, name)
        with explained(), closed(engine(found)) as made, transaction(made, name, making=True) as connection:
            make_tables(connection, name)
            write_grant(connection, budget, log_questions, simulation)
        return cls(found, name)

    @classmethod
    def open(cls, url: str, name: str) -> Self:
        """An existing ledger, after checking that it is sound.

        Raises:
            UsageError: the address or the name is none.
            MissingPart: the driver is not installed.
            LedgerError: it is missing, corrupt or out of reach. Nothing may be released without it.
            VaultVersionError: it was made by another version, or for other orders.
        """
        found = _checked(url, name)
        with explained(), closed(engine(found)) as made:
            with transaction(made, name, reading=True) as connection:
                version = _checked_version(connection, name)
            with transaction(made, name, reading=version == VERSION) as connection:
                if version < VERSION:
                    migrate(connection)
                check(connection)
        return cls(found, name)

    def copy(self, path: Path) -> SqliteLedger:
        """A copy in a file, marked as a simulation, for experiments: this ledger is not touched, the mark never goes.

        Raises:
            LedgerError: there is something at `path`, nothing can be written there, or the database is out of reach.
        """
        with self._reading() as connection:
            return copied(connection, path)

    def alone(self, key: bytes) -> AbstractContextManager[None]:
        """Hold a flight on all machines that share the ledger."""
        return alone_by_server(self._engine, self.name, key)

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[Connection]:
        with explained(), transaction(self._engine, self.name, durable=durable) as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained(), transaction(self._engine, self.name, reading=True) as connection:
            yield connection


def _checked(url: str, name: str) -> URL:
    # The name goes into statements as it is, so it must be nothing but a name.
    if not _NAME.fullmatch(name):
        raise UsageError("A ledger in PostgreSQL is called vault_ and up to 57 of the digits 0-9a-f.")
    return address(url)


def _checked_version(connection: Connection, name: str) -> int:
    if connection.execute(text("select to_regclass(:table)"), {"table": f"{name}.format"}).scalar() is None:
        raise missing()
    version = int(connection.execute(text("select version from format")).scalar_one())
    if version > VERSION:
        raise VaultVersionError(
            f"The ledger has format {version}; this program reads up to {VERSION}. Update discreet."
        )
    if version < OLDEST:  # no version of discreet made one
        raise LedgerError(CORRUPT)
    return version
