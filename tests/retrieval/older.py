"""Stores as older versions of discreet left them."""

import sqlite3
from contextlib import closing
from pathlib import Path

TABLES_OF_2 = (
    "create table meta (name text primary key, value)",
    "create table unit (id integer primary key autoincrement, name text unique not null, tie blob not null)",
    "create table document (id text primary key, unit integer not null, digest blob not null)",
    "create table chunk (row integer primary key, document text not null, unit integer not null, text text)",
    "create table free (row integer primary key)",
    "create index chunk_document on chunk (document)",
    "create index document_unit on document (unit)",
)


def make_older(folder: Path, version: int, names: dict[str, str]) -> None:
    """Have the store in `folder` be of version 1 or 2, with some units called otherwise.

    Args:
        folder: a store of the present version, which is open nowhere.
        version: the older one.
        names: by their names now, what units were called.
    """
    path = folder / "store.sqlite"
    path.rename(folder / "newer.sqlite")
    with closing(sqlite3.connect(path)) as database, database:
        for table in TABLES_OF_2:
            database.execute(table)
        database.execute("attach ? as newer", (str(folder / "newer.sqlite"),))
        for table, columns in (
            *(("meta", "name, value"), ("unit", "id, name, tie"), ("document", "id, unit, digest")),
            *(("chunk", '"row", document, unit, text'), ("free", '"row"')),
        ):
            newer = "free_row" if table == "free" else table
            database.execute(f"insert into {table} select {columns} from newer.{newer}")
        database.execute("update meta set value = ? where name = 'version'", (version,))
        for now, then in names.items():
            database.execute("update unit set name = ? where name = ?", (then, now))
    database.close()
    (folder / "newer.sqlite").unlink()
