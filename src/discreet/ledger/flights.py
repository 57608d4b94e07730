"""One at a time for the same question: who holds a flight asks, and the others wait for what is released.

A flight is a lock that its holder loses when its process or its connection ends, however it ends: no lease runs out,
no clock is read, and nothing has to be mended after a crash. It saves payments and guards no guarantee: a payment does
not look at it. A ledger in SQLite is one machine's, so a file beside it is locked. One in PostgreSQL is shared by
machines, so the server holds the lock (an advisory one) for the session.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import Connection, Engine, text

from discreet.ledger.postgres_connection import explained

PAUSE = 0.2
"""Seconds between two looks at whether a server's lock is free."""
# A machine whose power was cut ends no connection: the server asks it, and lets go of the lock within a minute.
_NOTICE = "set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3"


@contextmanager
def alone_by_file(folder: Path, key: bytes) -> Iterator[None]:
    """Hold the flight `key` while the block lasts, on this machine; wait for it first.

    Where no file can be made (a full disk, a read-only folder) nothing is held, and the question is asked all the same.

    Args:
        folder: where the file is made, and removed afterwards.
        key: of the flight; it must not tell the question (a keyed hash).
    """
    held = _locked(folder / f"flight.{key.hex()}")
    try:
        yield
    finally:
        if held is not None:
            with held, suppress(OSError):  # a folder that became read-only
                (folder / f"flight.{key.hex()}").unlink(missing_ok=True)
                # In so many words: a forked process may hold the file open, too.
                fcntl.flock(held, fcntl.LOCK_UN)


@contextmanager
def alone_by_server(engine: Engine, name: str, key: bytes) -> Iterator[None]:
    """Hold the flight `key` of the ledger `name` while the block lasts, on all machines; wait for it first.

    If the connection breaks meanwhile, the flight is free again, and the block goes on.
    """
    number = {"key": int.from_bytes(hashlib.blake2b(name.encode() + key, digest_size=8).digest(), "big", signed=True)}
    with explained():
        connection = engine.connect()
    with connection:
        try:
            with explained():
                _wait(connection, number)
            yield
        finally:
            _let_go(connection, number)


def _wait(connection: Connection, number: dict[str, int]) -> None:
    connection.execute(text(_NOTICE))
    while not connection.execute(text("select pg_try_advisory_lock(:key)"), number).scalar():
        time.sleep(PAUSE)


def _let_go(connection: Connection, number: dict[str, int]) -> None:
    """Let go of the lock: with the connection, if the server does not say that it is free (Ctrl-C, a broken one)."""
    free = False
    try:
        free = bool(connection.execute(text("select pg_advisory_unlock(:key)"), number).scalar())
    except Exception:
        pass
    finally:
        if not free:
            connection.invalidate()  # a connection that is used again would keep the lock


def _locked(path: Path) -> BinaryIO | None:
    """The locked file at `path`, which is free once it is closed; None if there can be none."""
    while True:
        try:
            file = open(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "rb")  # noqa: SIM115 - who holds it closes it
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_at(file, path):
                return file
        except OSError:  # a file system without locks
            file.close()
            return None
        except BaseException:
            file.close()
            raise
        file.close()  # its holder removed it while this one waited


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Whether the file that was locked is still the one at `path`."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
