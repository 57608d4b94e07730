"""The ledger of a vault in PostgreSQL: one schema of a database, which several machines may share.

A payment first locks the single row of the total (`for update`), and is committed with `synchronous_commit=on`. Opening
checks that the sums match the payments, and that the grant matches its seal.
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import URL, Connection, text

from discreet.config import check_format
from discreet.errors import UsageError
from discreet.ledger import late_check
from discreet.ledger.connections import closed, closing_with
from discreet.ledger.flights import alone_by_server
from discreet.ledger.integrity import check, write_grant
from discreet.ledger.postgres_connection import address, engine, explained, missing, transaction
from discreet.ledger.snapshot import copied
from discreet.ledger.sql import SqlLedger
from discreet.ledger.sqlite import SqliteLedger
from discreet.ledger.tables import make_in_postgres
from discreet.privacy.accounting import Budget

_NAME = re.compile(r"vault_[0-9a-f]{1,57}")


class PostgresLedger(SqlLedger):
    """A `UnitLedger` in a PostgreSQL schema. `create` makes it, and `open` opens it. Its grant never changes."""

    _arrival = "arrival"

    def __init__(self, url: URL, name: str) -> None:
        """Connect to a checked ledger. Use `create` or `open` instead."""
        self.name = name
        self._engine = closing_with(self, engine(url))
        super().__init__()

    @classmethod
    def create(
        cls, url: str, name: str, budget: Budget, *, log_questions: bool = False, simulation: bool = False
    ) -> Self:
        """Create a ledger with its final grant. Return the ledger.

        Args:
            url: the URL of the database: "postgresql://user@host/database". No error shows it.
            name: the name of the schema: "vault_" and up to 57 of the digits 0-9a-f.
            budget: the grant.
            log_questions: whether to keep the texts of questions.
            simulation: whether insecure noise is allowed, for experiments. This mark is permanent.

        Raises:
            UsageError: if the URL or the name is invalid.
            MissingPart: if the driver is not installed.
            LedgerError: if a schema of this name exists, or if the database cannot be reached or written.
        """
        found = _checked(url, name)
        with explained(), closed(engine(found)) as made, transaction(made, name, making=True) as connection:
            make_in_postgres(connection, name)
            write_grant(connection, budget, log_questions, simulation)
        return cls(found, name)

    @classmethod
    def open(cls, url: str, name: str) -> Self:
        """Open an existing ledger, and check that it is sound. Return the ledger.

        A large ledger is checked beside (late_check.py): then the first payment raises the error.

        Raises:
            UsageError: if the URL or the name is invalid.
            MissingPart: if the driver is not installed.
            LedgerError: if the ledger is missing, corrupt or out of reach. Nothing may be released without it.
            VaultVersionError: if the ledger has another format or other Renyi orders.
        """
        found = _checked(url, name)
        with explained(), closed(engine(found)) as made, transaction(made, name, reading=True) as connection:
            _check_format(connection, name)
            late = _size(connection) >= late_check.LARGE
            if not late:
                check(connection)
        opened = cls(found, name)
        if late:
            opened.check_meanwhile(lambda: _check_all(found, name))
        return opened

    def copy(self, path: Path) -> SqliteLedger:
        """Copy the ledger to a file that is permanently marked as a simulation. This ledger does not change.

        Raises:
            LedgerError: if a file exists at `path`, if it cannot be written, or if the database is out of reach.
        """
        with self._reading() as connection:
            return copied(connection, path)

    def alone(self, key: bytes) -> AbstractContextManager[None]:
        """Wait for a flight on all machines that share the ledger, and hold it for the block."""
        return alone_by_server(self._engine, self.name, key)

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[Connection]:
        self._wait_for_check()
        with explained(), transaction(self._engine, self.name, durable=durable) as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained(), transaction(self._engine, self.name, reading=True) as connection:
            yield connection


def _checked(url: str, name: str) -> URL:
    # Statements contain the name without quoting, so it must be a plain name.
    if not _NAME.fullmatch(name):
        raise UsageError(
            "The name of the ledger's schema is invalid. Expected: vault_ and up to 57 of the digits 0-9a-f. Restore "
            "vault.json from a backup."
        )
    return address(url)


def _check_all(url: URL, name: str) -> None:
    """Check a ledger of this format as a whole."""
    with explained(), closed(engine(url)) as made, transaction(made, name, reading=True) as connection:
        check(connection)


def _size(connection: Connection) -> int:
    """Return the size of the balances of units, in bytes."""
    return int(connection.execute(text("select pg_relation_size(to_regclass('unit'))")).scalar() or 0)


def _check_format(connection: Connection, name: str) -> None:
    if connection.execute(text("select to_regclass(:table)"), {"table": f"{name}.format"}).scalar() is None:
        raise missing()
    check_format("The ledger", connection.execute(text("select version from format")).scalar_one())
