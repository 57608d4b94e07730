"""Files of logs that several processes may make at once: each is there as a whole, or not at all."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection

from discreet.log.sqlite import SqliteFile

RIGHTS = 0o660
"""The most that a file of the front's folder permits."""


@contextmanager
def making(folder: Path) -> Iterator[None]:
    """Make a folder, and hold it for the block: no other process makes a file in it by this function."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o770)
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def make_log(path: Path, fill: Callable[[Connection], None]) -> None:
    """Make the file of a log that `fill` writes, in a folder that is held. It is made aside, and then renamed."""
    aside = path.with_name(f"{path.name}.new")
    aside.unlink(missing_ok=True)
    made = SqliteFile(aside)
    try:
        made.make(fill)
    finally:
        made.engine.dispose()
    aside.chmod(RIGHTS & aside.stat().st_mode)
    os.replace(aside, path)
