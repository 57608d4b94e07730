"""The ledger of a vault in one SQLite file.

A payment first takes the write lock (`begin immediate`), and is committed with `synchronous=full`. Opening checks that
the sums match the payments, and that the grant matches its seal.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import StaticPool

from discreet.config import check_format
from discreet.errors import LedgerError
from discreet.ledger import late_check
from discreet.ledger.connections import closed, closing_with
from discreet.ledger.database import connect, engine, explained, keep_log, missing, new_file, transaction
from discreet.ledger.encoding import CORRUPT
from discreet.ledger.flights import alone_by_file
from discreet.ledger.integrity import check, write_grant
from discreet.ledger.sql import SqlLedger
from discreet.ledger.tables import GRANT_IS_FINAL, grant_digest, make_in_sqlite
from discreet.privacy.accounting import Budget


class SqliteLedger(SqlLedger):
    """A `UnitLedger` in a file. `create` makes it, and `open` opens it. Its grant never changes."""

    _arrival = "rowid"

    def __init__(self, path: Path) -> None:
        """Connect to a checked file. Use `create` or `open` instead."""
        self.path = path.absolute()
        self._engine = closing_with(self, engine(self.path))
        super().__init__()

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
        new_file(path)
        try:
            with explained(path):
                keep_log(path)
                with closed(engine(path)) as made, transaction(made) as connection:
                    make_in_sqlite(connection)
                    write_grant(connection, budget, log_questions, simulation)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing ledger, and check that it is sound. A read-only ledger can be opened, but not charged.

        A large ledger is checked beside (late_check.py): then the first payment raises the error.

        Raises:
            LedgerError: if the ledger is missing or corrupt. Nothing may be released without it.
            VaultVersionError: if the ledger has another format or other Renyi orders.
        """
        if not path.is_file():
            raise missing(path)
        with explained(path), closed(engine(path)) as found:
            late = path.stat().st_size >= late_check.LARGE
            with transaction(found, reading=True) as connection:
                _check_format(connection)
                if not late:
                    _check_pages(connection)
                    check(connection)
        opened = cls(path)
        if late:
            opened.check_meanwhile(lambda: _check_all(path))
        return opened

    def copy(self, path: Path) -> "SqliteLedger":
        """Copy the ledger to a file that is permanently marked as a simulation. This ledger does not change.

        Raises:
            LedgerError: if a file exists at `path`, or if it cannot be written.
        """
        new_file(path)
        try:
            # The copy gets its mark in memory, so that no copy without the mark is ever on disk.
            with explained(self.path), closing(sqlite3.connect(":memory:")) as copied:
                with closing(connect(self.path)) as source:
                    source.backup(copied)
                _mark_as_simulation(copied)
                with explained(path), closing(connect(path)) as target:
                    copied.backup(target)
                keep_log(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return SqliteLedger.open(path)

    def alone(self, key: bytes) -> AbstractContextManager[None]:
        """Wait for a flight on this machine, and hold it for the block."""
        return alone_by_file(self.path.parent, key)

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[Connection]:
        self._wait_for_check()
        with explained(self.path), transaction(self._engine, durable=durable) as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained(self.path), transaction(self._engine, reading=True) as connection:
            yield connection


def _check_all(path: Path) -> None:
    """Check a ledger of this format as a whole."""
    with explained(path), closed(engine(path)) as found, transaction(found, reading=True) as connection:
        _check_pages(connection)
        check(connection)


def _check_pages(connection: Connection) -> None:
    if connection.execute(text("pragma quick_check")).scalar() != "ok":
        raise LedgerError(CORRUPT)


def _check_format(connection: Connection) -> None:
    found = int(connection.execute(text("pragma user_version")).scalar_one())
    if found < 1:  # the file was emptied, or its creation was interrupted
        raise LedgerError(CORRUPT)
    check_format("The ledger", found)


def _mark_as_simulation(copied: sqlite3.Connection) -> None:
    memory = create_engine("sqlite://", creator=lambda: copied, poolclass=StaticPool)
    with memory.begin() as connection:
        connection.execute(text("drop trigger grant_is_final"))
        connection.execute(text("update grant_ set simulation = 1"))
        connection.execute(text(GRANT_IS_FINAL))
        connection.execute(text("update seal set digest = :digest"), {"digest": grant_digest(connection)})
