"""The errors of a database or a disk, in messages without any part of the documents."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import StoreError

_FULL = "The disk is full. Nothing that was stored before is lost: free some space and run the command again."
_DAMAGED = "The store is damaged. Restore the vault from a copy, or make a new one and add the documents again."
_BY_CODE = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_BUSY: "Another process is writing to the store. Wait for it to end and run the command again.",
    sqlite3.SQLITE_READONLY: "The store cannot be written. Check the permissions of the vault's folder.",
    sqlite3.SQLITE_CANTOPEN: "The store cannot be opened. Check the permissions of the vault's folder.",
}


def damaged() -> StoreError:
    """Return the error of a store with content that no version of this program writes."""
    return StoreError(_DAMAGED)


@contextmanager
def explained() -> Iterator[None]:
    """Turn errors of SQLite and of files into `StoreError`s that name a remedy."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        other = f"The store cannot be used ({type(error).__name__}). If it is damaged, restore the vault from a copy."
        raise StoreError(other if code is None else _BY_CODE.get(code & 0xFF, other)) from error
    except UnicodeDecodeError:
        raise damaged() from None
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise StoreError(_FULL if full else f"The store cannot be used: {error.strerror}.") from error


@contextmanager
def rolled_back_on_error(database: sqlite3.Connection) -> Iterator[None]:
    """Roll a transaction back if the block fails, also by Ctrl-C. The block begins and commits the transaction."""
    try:
        yield
    except BaseException:
        if database.in_transaction:  # a full disk may have ended it already
            database.execute("rollback")
        raise
