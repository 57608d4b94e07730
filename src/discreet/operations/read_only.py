"""Read-only access to SQLite files, without a write-ahead log."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import StaticPool

PATIENCE = 30
"""The time to wait for another process that writes, in seconds."""


@contextmanager
def looking(path: Path, *, log: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the file at `path` read-only. Yield a connection that sees one consistent state.

    Args:
        path: the file.
        log: whether the file has a write-ahead log. Without a log beside the file, no process has the file open. It is
            then read without a log, because reading would otherwise leave one.

    Raises:
        sqlite3.Error: if the file is missing, is not a database, or has an unfinished write.
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
    """Yield a SQLAlchemy connection over a connection of sqlite3."""
    engine = create_engine("sqlite://", creator=lambda: database, poolclass=StaticPool, hide_parameters=True)
    with engine.connect() as connection:
        yield connection
