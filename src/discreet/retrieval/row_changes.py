"""The log of rows that changed, from which an index in memory is brought up to date.

Triggers write the log, in the transaction of the change. An entry has a number, which grows by one, the row of a
chunk, and a random token. The entry says that the row changed, and nothing of its contents. A number with its token
names one state of one store: a copy of the store that went another way has other tokens.
"""

import sqlite3
from dataclasses import dataclass
from typing import Any

NO_ROW = -1
"""The row of an entry without a row, such as the first one, which is there so that the log is never empty."""

_NOTE = "insert into change (row, token) values ({row}, randomblob(8))"
TABLES = (
    "table if not exists change (number integer primary key, row integer not null, token blob not null)",
    f"trigger if not exists chunk_added after insert on chunk begin {_NOTE.format(row='new.row')}; end",
    f"trigger if not exists chunk_removed after delete on chunk begin {_NOTE.format(row='old.row')}; end",
    "trigger if not exists chunk_changed after update on chunk begin "
    f"{_NOTE.format(row='old.row')}; {_NOTE.format(row='new.row')}; end",
)
TRIGGERS = ("chunk_added", "chunk_removed", "chunk_changed")


@dataclass(frozen=True)
class State:
    """The last entry of a log: it names the state of the store's rows."""

    number: int
    token: bytes


def begin_log(database: sqlite3.Connection) -> None:
    """Write the first entry of an empty log."""
    note_rowless(database)


def note_rowless(database: sqlite3.Connection) -> None:
    """Write the entry of a change without a row: of a document without a chunk."""
    database.execute(_NOTE.format(row=NO_ROW))


def last_state(database: sqlite3.Connection) -> State | None:
    """Return the present state; None if the log is damaged."""
    found = database.execute("select number, token from change order by number desc limit 1").fetchone()
    return State(*found) if found and isinstance(found[1], bytes) else None


def has_state(database: sqlite3.Connection, state: State) -> bool:
    """Return whether the log begins at this state or earlier, so that all changes since are in it."""
    query = "select 1 from change where number = ? and token = ?"
    return database.execute(query, (state.number, state.token)).fetchone() is not None


def rows_since(database: sqlite3.Connection, state: State) -> list[Any]:
    """Return the rows that changed since a state, each once: (row, unit, tie, name); unit is None for a free row."""
    return database.execute(
        "select changed.row, chunk.unit, unit.tie, unit.name from (select distinct row from change where number > ?) "
        "as changed left join chunk on chunk.row = changed.row left join unit on unit.id = chunk.unit",
        (state.number,),
    ).fetchall()


def length(database: sqlite3.Connection) -> int:
    """Return the number of entries."""
    first, last = database.execute(
        "select (select min(number) from change), (select max(number) from change)"
    ).fetchone()
    return 0 if first is None else int(last) - int(first) + 1


def forget_before(database: sqlite3.Connection, state: State, spare: int = 0) -> None:
    """Remove all entries before a state but the last `spare` ones."""
    database.execute("delete from change where number < ?", (state.number - spare,))
