"""A look at a SQLite file that changes nothing: it is not migrated, and no log is made or moved."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import StaticPool

PATIENCE = 30
"""Seconds to wait while another process writes."""


@contextmanager
def looking(path: Path, *, log: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection that sees one moment of the file at `path`, and cannot write.

    Args:
        path: the file.
        log: whether the file is written by way of a log (WAL). Where no log lies beside it no process has it open,
            and it is read without one: otherwise the look would leave a log behind.

    Raises:
        sqlite3.Error: the file is not there, no database, or was left in the middle of a write.
    """
    alone = log and not path.with_name(f"{path.name}-wal").exists()
    how = "mode=ro&immutable=1" if alone else "mode=ro"
    address = f"{path.absolute().as_uri()}?{how}"
    with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)) as database:
        database.execute("begin")
        database.execute("select 1 from sqlite_master").fetchone()
        yield database


@contextmanager
def as_sqlalchemy(database: sqlite3.Connection) -> Iterator[Connection]:
    """The same connection, for code that speaks SQLAlchemy."""
    engine = create_engine("sqlite://", creator=lambda: database, poolclass=StaticPool, hide_parameters=True)
    with engine.connect() as connection:
        yield connection
