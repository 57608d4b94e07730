"""The ledger of a vault: one SQLite file.

A payment takes the write lock first (`begin immediate`) and is committed with `synchronous=full`. On opening, the
sums must match what was paid, and the grant its seal.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import StaticPool

from discreet.errors import LedgerError, VaultVersionError
from discreet.ledger.connections import closed, closing_with
from discreet.ledger.database import connect, engine, explained, keep_log, missing, new_file, transaction
from discreet.ledger.encoding import CORRUPT
from discreet.ledger.flights import alone_by_file
from discreet.ledger.integrity import check, write_grant
from discreet.ledger.migrations import GRANT_IS_FINAL, MIGRATIONS, grant_digest
from discreet.ledger.sql import SqlLedger
from discreet.privacy.accounting import Budget


class SqliteLedger(SqlLedger):
    """A `UnitLedger` in a file. Made by `create`, found again by `open`; its grant never changes."""

    _arrival = "rowid"

    def __init__(self, path: Path) -> None:
        """For `create` and `open`, which check the file."""
        self.path = path.absolute()
        self._engine = closing_with(self, engine(self.path))
        super().__init__()

    @classmethod
    def create(cls, path: Path, budget: Budget, *, log_questions: bool = False, simulation: bool = False) -> Self:
        """A new ledger with a grant, once and for all.

        Args:
            path: where; its folder must exist.
            budget: the grant.
            log_questions: whether the text of questions is kept.
            simulation: whether insecure noise is allowed, for experiments. This mark never goes.

        Raises:
            LedgerError: there is something at `path`, or nothing can be written there.
        """
        new_file(path)
        try:
            with explained(path):
                keep_log(path)
                with closed(engine(path)) as made, transaction(made) as connection:
                    migrate(connection)
                    write_grant(connection, budget, log_questions, simulation)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """An existing ledger, after checking that it is sound. It may be read-only: then nothing can be charged.

        Raises:
            LedgerError: it is missing or corrupt. Nothing may be released without it.
            VaultVersionError: it was made by a later version, or for other orders.
        """
        if not path.is_file():
            raise missing(path)
        with explained(path), closed(engine(path)) as found:
            with transaction(found, reading=True) as connection:
                version = _checked_version(connection)
            with transaction(found, reading=version == len(MIGRATIONS)) as connection:
                if version < len(MIGRATIONS):
                    migrate(connection)
                check(connection)
        return cls(path)

    def copy(self, path: Path) -> "SqliteLedger":
        """A copy marked as a simulation, for experiments: this ledger is not touched, and that mark never goes.

        Raises:
            LedgerError: there is something at `path`, or nothing can be written there.
        """
        new_file(path)
        try:
            # Marked in memory: no moment at which a copy without its mark is on disk.
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
        """Hold a flight on this machine, to which the file belongs."""
        return alone_by_file(self.path.parent, key)

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[Connection]:
        with explained(self.path), transaction(self._engine, durable=durable) as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained(self.path), transaction(self._engine, reading=True) as connection:
            yield connection


def _checked_version(connection: Connection) -> int:
    if connection.execute(text("pragma quick_check")).scalar() != "ok":
        raise LedgerError(CORRUPT)
    version = _version(connection)
    if version > len(MIGRATIONS):
        raise VaultVersionError(
            f"The ledger has format {version}; this program reads up to {len(MIGRATIONS)}. Update discreet."
        )
    if version < 1:  # an emptied file, or one whose making was broken off
        raise LedgerError(CORRUPT)
    return version


def _version(connection: Connection) -> int:
    return int(connection.execute(text("pragma user_version")).scalar_one())


def migrate(connection: Connection) -> None:
    """Bring the tables of an older file, or an empty one, up to date."""
    # The version is read under the write lock: another process may have migrated meanwhile.
    for migrate in MIGRATIONS[_version(connection) :]:
        migrate(connection)
    connection.execute(text(f"pragma user_version = {len(MIGRATIONS)}"))


def _mark_as_simulation(copied: sqlite3.Connection) -> None:
    memory = create_engine("sqlite://", creator=lambda: copied, poolclass=StaticPool)
    with memory.begin() as connection:
        connection.execute(text("drop trigger grant_is_final"))
        connection.execute(text("update grant_ set simulation = 1"))
        connection.execute(text(GRANT_IS_FINAL))
        connection.execute(text("update seal set digest = :digest"), {"digest": grant_digest(connection)})
