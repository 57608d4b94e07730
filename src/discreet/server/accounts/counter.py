"""A counter beside the database, by which an older copy of the database is noticed.

STATE/accounts.counter holds how many changes the database had. It is written after the database has committed, so it
is never ahead. A power cut may leave it behind; then less is noticed, and nothing is refused by mistake. It cannot
notice that the whole folder was put back from an older copy: the audit log's printed head does (audit_log.py).
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

_WIDTH = 24


class Counter:
    """A file with a number that only grows."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> int:
        """Return the number; 0 if there is no file, or if it is damaged."""
        try:
            return max(0, int(self._path.read_text(encoding="ascii")))
        except (OSError, ValueError):
            return 0

    def note(self, changes: int) -> None:
        """Keep `changes`, unless the file has more. A file that cannot be written stays behind."""
        with suppress(OSError):
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o660)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if self.read() < changes:
                    self._write(file, changes)
            finally:
                os.close(file)

    def reset(self, changes: int) -> None:
        """Keep `changes`, even if the file has more."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o660)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            self._write(file, changes)
        finally:
            os.close(file)

    def _write(self, file: int, changes: int) -> None:
        # One length for all numbers, so that the file is written over in one piece.
        os.pwrite(file, (str(changes).ljust(_WIDTH - 1) + "\n").encode(), 0)
        os.ftruncate(file, _WIDTH)
