"""The audit log: one JSON object a line, each with the hash of the line before it.

    {"act", "actor", "details", "hash", "of", "prev", "seq", "time"}

`hash` is the SHA-256 of the line without it, in canonical form (keys sorted, no spaces, ASCII). So a line cannot be
changed, added or removed in the middle without every later hash changing. The chain alone does not show that its tail
was cut, or that all of it was written anew: for that, compare it with a head that was printed or filed elsewhere.

Several processes append: a lock on STATE/audit.jsonl.lock makes it one after the other. A line is on disk when `append`
returns. A crash in mid-write can leave a part of a line that no caller was promised: the next `append` removes it, and
records that it did. A full file is renamed to audit.jsonl.00000001 and so on, and the chain continues in a new one.
"""

import fcntl
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, UsageError
from discreet.server.log_chain import GENESIS, Broken, Verified, hash_of, parse_line, spelled, verify_files

Detail = str | int | float | bool | None
LARGEST = 2**26
"""Bytes after which the file is renamed, and a new one begun."""
LONGEST_LINE = 16_384
_TAIL = 2 * LONGEST_LINE
_DIGITS = 8


class AuditLogError(DiscreetError):
    """An audit log that is damaged, was tampered with, or cannot be written."""


@dataclass(frozen=True)
class Entry:
    """A line that was written.

    Attributes:
        seq: its number; the first line has 1.
        hash: its hash: the head of the chain, until the next line.
    """

    seq: int
    hash: str


class AuditLog:
    """An audit log in a file. Objects in several threads and processes may share the file."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time, largest: int = LARGEST) -> None:
        """For the file at `path`, which is made with the first line."""
        self.path, self._clock, self._largest = path, clock, largest
        self._lock = path.with_name(f"{path.name}.lock")

    def append(self, actor: str, act: str, of: str, **details: Detail) -> Entry:
        """Write a line, and have it on disk.

        Args:
            actor: who acted: a key's id, "custodian", "front", "keeper".
            act: what was done, such as "key-issue" or "question".
            of: to what: an id.
            details: public values.

        Raises:
            UsageError: if a detail is no text, number, truth value or None, or the line is too long.
            AuditLogError: if the file cannot be written, or its last line is damaged.
        """
        _check(actor, act, of, details)
        with self._explained(), self._alone():
            torn = self._remove_torn()
            last = self._last()
            if torn:
                last = self._write(last, "audit-log", "repair", self.path.name, {"bytes": torn})
            return self._write(last, actor, act, of, details)

    def head(self) -> Entry:
        """Return the last line's number and hash; number 0 of an empty log.

        Raises:
            AuditLogError: if the file cannot be read, or its last line is damaged.
        """
        with self._explained(), self._alone():
            return self._last()

    def verify(self, head: str | None = None) -> Verified:
        """Check the whole chain.

        Args:
            head: a hash that was the head at some time: it must be in the chain.

        Raises:
            AuditLogError: if a line is wrong (the first one is named), or `head` is not in the chain.
        """
        with self._explained(), self._still():
            files = self.files()
            if not files:
                raise AuditLogError(f"There is no audit log at {self.path}. Check the path.")
            try:
                return verify_files(files, head)
            except Broken as broken:
                raise AuditLogError(str(broken)) from None

    def files(self) -> list[Path]:
        """Return the files of the log that are there, the oldest first."""
        older = self._older()
        return [*older, self.path] if self.path.exists() else older

    def _newest_first(self) -> Iterator[Path]:
        """Yield the files that are there. The folder is searched for older ones only if the newest has no line."""
        if self.path.exists():
            yield self.path
        yield from reversed(self._older())

    def _older(self) -> list[Path]:
        found = self.path.parent.glob(f"{self.path.name}.{'[0-9]' * _DIGITS}")
        return sorted(found)

    def _write(self, last: Entry, actor: str, act: str, of: str, details: dict[str, Any]) -> Entry:
        content = {
            "seq": last.seq + 1,
            "time": round(self._clock(), 3),
            "actor": actor,
            "act": act,
            "of": of,
            "details": details,
            "prev": last.hash,
        }
        written = Entry(last.seq + 1, hash_of(content))
        line = (spelled(content | {"hash": written.hash}) + "\n").encode("ascii")
        if len(line) > LONGEST_LINE:
            raise UsageError(f"A line of the audit log has {len(line):,} bytes; it may have {LONGEST_LINE:,}.")
        self._rotate(len(line))
        new = not self.path.exists()
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o660)
        try:
            done = 0
            while done < len(line):
                done += os.write(file, line[done:])
            os.fsync(file)
        finally:
            os.close(file)
        if new:
            _sync_folder(self.path.parent)
        return written

    def _rotate(self, extra: int) -> None:
        """Rename a full file, so that the next line begins a new one."""
        if not self.path.exists() or self.path.stat().st_size + extra <= self._largest:
            return
        older = self._older()
        number = int(older[-1].name[-_DIGITS:]) + 1 if older else 1
        os.rename(self.path, self.path.with_name(f"{self.path.name}.{number:0{_DIGITS}d}"))
        _sync_folder(self.path.parent)

    def _last(self) -> Entry:
        """Return the last line; the one of the file before if a new file has none yet."""
        for path in self._newest_first():
            with path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _TAIL))
                lines = file.read().splitlines()
            if lines:
                try:
                    found = parse_line(lines[-1])
                except Broken:
                    raise AuditLogError(
                        f"The last line of {path} is damaged. Nothing was written. Find the fault: "
                        f"discreet audit-log verify {self.path}"
                    ) from None
                return Entry(found["seq"], found["hash"])
        return Entry(0, GENESIS)

    def _remove_torn(self) -> int:
        """Remove the part of a line that a crash left at the end. Returns how many bytes it had."""
        if not self.path.exists():
            return 0
        with os.fdopen(os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC), "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            start = max(0, size - _TAIL)
            file.seek(start)
            tail = file.read()
            kept = start + tail.rfind(b"\n") + 1
            if kept == size or (start > 0 and kept == start):
                return 0  # whole, or so damaged that `_last` refuses it
            file.truncate(kept)
            file.flush()
            os.fsync(file.fileno())
        return size - kept

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o770)
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o660)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _still(self) -> Iterator[None]:
        """Hold the log still while it is read. A copy without a lock, or in a read-only folder, is still by itself."""
        try:
            lock = os.open(self._lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            yield
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise AuditLogError(
                f"The audit log {self.path} cannot be used: {error.strerror}. Check its folder and the disk."
            ) from None


def _check(actor: str, act: str, of: str, details: dict[str, Any]) -> None:
    for name, value in {"actor": actor, "act": act, "of": of, **details}.items():
        plain = value is None or isinstance(value, str | int | float)
        if not plain or (isinstance(value, float) and not math.isfinite(value)):
            raise UsageError(f"The detail '{name}' of an audit log's line is no text, finite number or truth value.")
        if isinstance(value, str) and not _is_text(value):
            raise UsageError(f"The detail '{name}' of an audit log's line is not UTF-8.")


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


__all__ = ["AuditLog", "AuditLogError", "Entry", "Verified"]
