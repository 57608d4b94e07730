"""Locks for equal questions (flights). One process asks the question, and the others wait for the released answer.

A flight ends with its holder's process or connection, also after a crash. So there are no leases, no clocks and no
repairs. A flight saves payments. The guarantee does not depend on it: a payment does not check it. A ledger in SQLite
belongs to one machine, so its flights are locked files. Machines share a ledger in PostgreSQL, so its flights are
advisory locks of the server.
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

from discreet.log.postgres import explained

PAUSE = 0.2
"""The time between two attempts to take a server's lock, in seconds."""
# A power cut does not close a connection. These probes of the server free the lock within a minute.
_NOTICE = "set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3"


@contextmanager
def alone_by_file(folder: Path, key: bytes) -> Iterator[None]:
    """Wait for the flight `key` on this machine, and hold it until the block ends.

    If no file can be made (a full disk, a read-only folder), no flight is held, and the block runs.

    Args:
        folder: the folder of the lock file, which is removed at the end.
        key: the key of the flight. It must not reveal the question, so it is a keyed hash.
    """
    held = _locked(folder / f"flight.{key.hex()}")
    try:
        yield
    finally:
        if held is not None:
            with held, suppress(OSError):  # the folder may have become read-only
                (folder / f"flight.{key.hex()}").unlink(missing_ok=True)
                # Unlock explicitly: a forked process may still have the file open.
                fcntl.flock(held, fcntl.LOCK_UN)


@contextmanager
def alone_by_server(engine: Engine, name: str, key: bytes) -> Iterator[None]:
    """Wait for the flight `key` of the ledger `name` on all machines, and hold it until the block ends.

    If the connection breaks, the flight becomes free, and the block continues.
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
    """Release the lock. If the server does not confirm this (Ctrl-C, a broken connection), close the connection."""
    free = False
    try:
        free = bool(connection.execute(text("select pg_advisory_unlock(:key)"), number).scalar())
    except Exception:
        pass
    finally:
        if not free:
            connection.invalidate()  # a pooled connection would keep the lock


def _locked(path: Path) -> BinaryIO | None:
    """Return the locked file at `path`, which is unlocked when it is closed; None if it cannot be made or locked."""
    while True:
        try:
            file = open(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "rb")  # noqa: SIM115 - the holder closes it
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
        file.close()  # the previous holder removed the file


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Return whether the locked file is still the one at `path`."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
