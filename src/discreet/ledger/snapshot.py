"""Copies of a server's ledger in a file that is marked as a simulation, for experiments."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from discreet.ledger import postgres_connection
from discreet.ledger.connections import closed
from discreet.ledger.database import engine, explained, keep_log, new_file, transaction
from discreet.ledger.encoding import stream
from discreet.ledger.sqlite import SqliteLedger
from discreet.ledger.tables import grant_digest, make_in_sqlite

_TABLES = (
    "grant_",
    "total",
    "question",
    "charge",
    "unit",
    "part",
    "last_part",
    "waiting_part",
    "balance_block",
    "merged_unit",
)


def copied(source: Connection, path: Path) -> SqliteLedger:
    """Copy the state that `source` sees to a new file at `path`. The copy has its mark from the start.

    Raises:
        LedgerError: if a file exists at `path`, if it cannot be written, or if the server is out of reach.
    """
    new_file(path)
    try:
        with explained(path):
            keep_log(path)
            with closed(engine(path)) as made, transaction(made) as target:
                make_in_sqlite(target)
                target.execute(text("delete from last_part"))
                for table in _TABLES:
                    _copy(source, target, table)
                target.execute(text("insert into seal values (1, :digest)"), {"digest": grant_digest(target)})
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return SqliteLedger.open(path)


def _copy(source: Connection, target: Connection, table: str) -> None:
    columns = [row.name for row in target.execute(text(f"pragma table_info({table})"))]
    marks = ", ".join("1" if column == "simulation" else "?" for column in columns)
    copied = ", ".join(f'"{column}"' for column in columns if column != "simulation")
    order = " order by arrival" if table == "question" else ""
    driver: Any = target.connection.dbapi_connection
    # The rows are streamed, because there may be many.
    driver.executemany(f"insert into {table} values ({marks})", _rows(source, f"select {copied} from {table}{order}"))


def _rows(source: Connection, statement: str) -> Iterator[tuple[Any, ...]]:
    with postgres_connection.explained():  # around reading only, so that no error has a message of the server
        for row in stream(source, statement):
            yield tuple(row)
