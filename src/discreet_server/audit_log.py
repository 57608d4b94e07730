"""The audit log: who did what, one row an act, in the log of an SQLite file of each server.

    front/audit.sqlite            the first file
    front/audit.sqlite.00000002   the file after it, and so on

A row has the act's number (`part`), what it was done to (`question`), and actor, act and details as JSON. Each row has
the hash of the row before (discreet.log.chain). So a row cannot be changed, added, removed or moved without every later
hash changing. The chain alone does not show that newest rows were lost together, or that all of it was written anew:
for that, compare it with a head that was printed or filed elsewhere.

Several processes append: each does it in a transaction that holds the lock of the file, and is on disk when it returns.
A full file gets a last row, `closed`, and the chain continues in a new file. It is never renamed, since other processes
may have it open. A process that finds a closed file goes on in the next one, and makes it if a crash came before.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select, text

from discreet.errors import DiscreetError, LedgerError, UsageError, VaultVersionError
from discreet.log import chain
from discreet.log.chain import CORRUPT, GENESIS, LOG, OPEN, Head, LogRow
from discreet.log.sqlite import SqliteFile, make_log, making

Detail = str | int | float | bool | None
LARGEST = 2**26
"""Bytes after which a file is closed, and a new one begun."""
LONGEST_LINE = 16_384
ACT, CLOSED = "act", "closed"
_MARK = b"audit log "
_DIGITS = 8
_ROOM = 8
"""Pages that a file has left when it is closed: more than a row takes."""
_NEWEST = select(LOG).order_by(LOG.c.id.desc()).limit(2)
_ACTS = select(LOG).where(LOG.c.kind == ACT).order_by(LOG.c.id)
_NEWEST_ACTS = select(LOG).where(LOG.c.kind == ACT).order_by(LOG.c.id.desc())


class AuditLogError(DiscreetError):
    """An audit log that is damaged, was tampered with, or cannot be written."""


@dataclass(frozen=True)
class AuditLine:
    """A line that was written.

    Attributes:
        seq: its number; the first line has 1.
        hash: its hash: the head of the chain, until the next line.
    """

    seq: int
    hash: str


@dataclass(frozen=True)
class Verified:
    """A chain that is whole.

    Attributes:
        count: how many lines it has.
        head: the hash of the last line; keep it elsewhere.
        first: the number of the first line; more than 1 if older files were taken away.
        last: the number of the last line.
    """

    count: int
    head: str
    first: int
    last: int


class AuditLog:
    """An audit log in files. Objects in several threads and processes may share them."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time, largest: int = LARGEST) -> None:
        """For the log whose first file is at `path`, which is made with the first line."""
        self.path, self._clock, self._largest = path, clock, largest
        self._one_writes = threading.Lock()
        self._newest: SqliteFile | None = None

    def append(self, actor: str, act: str, of: str, **details: Detail) -> AuditLine:
        """Write a line, and have it on disk.

        Args:
            actor: who acted: a key's id, "custodian", "front", "keeper".
            act: what was done, such as "key-issue" or "question".
            of: to what: an id.
            details: public values.

        Raises:
            UsageError: if a detail is no text, number, truth value or None, or the line is too long.
            AuditLogError: if a file cannot be written, or its last line is damaged.
        """
        _check(actor, act, of, details)
        content = json.dumps({"actor": actor, "act": act, "details": details}).encode()
        if (size := len(content) + len(of.encode())) > LONGEST_LINE:
            raise UsageError(f"A line of the audit log has {size:,} bytes; it may have {LONGEST_LINE:,}.")
        with self._explained(), self._one_writes:
            while True:
                path = (self.files() or [self._begin(self.path, 0, None)])[-1]
                file = self._newest = self._file(path)
                with file.writing() as connection:
                    head, seq, kind = _read_last(connection)
                    if kind == OPEN or (kind == ACT and not self._is_full(connection)):
                        entry = chain.Entry(of, ACT, seq + 1, content=content)
                        return AuditLine(seq + 1, chain.append(connection, head, entry, int(self._clock())).hash.hex())
                    if kind == ACT:
                        head = chain.append(connection, head, chain.Entry("", CLOSED, seq), int(self._clock()))
                self._newest = None
                file.forget_deleted()  # so that the file is whole without the log beside it, and can be archived
                file.engine.dispose()
                self._begin(self._next_to(path), seq, head)

    def head(self) -> AuditLine:
        """Return the last line's number and hash; number 0 of an empty log.

        Raises:
            AuditLogError: if the file cannot be read, or its last line is damaged.
        """
        with self._explained():
            if not (files := self.files()):
                return AuditLine(0, GENESIS.hex())
            with self._file(files[-1]).reading() as connection:
                head, seq, _ = _read_last(connection)
            return AuditLine(seq, head.hash.hex())

    def verify(self, head: str | None = None) -> Verified:
        """Check the whole chain.

        Args:
            head: a hash that was the head at some time: it must be in the chain.

        Raises:
            AuditLogError: if a line is wrong (the first one is named), or `head` is not in the chain.
        """
        with self._explained():
            if not (files := self.files()):
                raise AuditLogError(f"There is no audit log at {self.path}. Check the path.")
            checked = _Checked(head)
            for path in files:
                self._verify(path, checked)
            if not checked.seen:
                raise AuditLogError(
                    f"The head {head} is not in the chain, which ends with {checked.hash.hex()}. Lines at the end were "
                    "cut off, or the log was written anew. Compare it with a copy."
                )
            return Verified(checked.last - checked.first + 1, checked.hash.hex(), checked.first, checked.last)

    def files(self) -> list[Path]:
        """Return the files of the log that are there, the oldest first."""
        later = sorted(self.path.parent.glob(f"{self.path.name}.{'[0-9]' * _DIGITS}"))
        return [self.path, *later] if self.path.exists() else later

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield all lines as plain data, the oldest first. They are not checked."""
        for path in self.files():
            with self._explained(), self._file(path).reading() as connection:
                yield from (_line(LogRow._make(row)) for row in connection.execute(_ACTS))

    def newest(self, most: int) -> list[dict[str, Any]]:
        """Return the newest lines as plain data, the newest first. They are not checked."""
        found: list[dict[str, Any]] = []
        for path in reversed(self.files()):
            with self._explained(), self._file(path).reading() as connection:
                rows = connection.execute(_NEWEST_ACTS.limit(most - len(found)))
                found += [_line(LogRow._make(row)) for row in rows]
            if len(found) == most:
                break
        return found

    def _file(self, path: Path) -> SqliteFile:
        """Return a file of the log.

        Raises:
            AuditLogError: if it is a link, which could lead to another log.
        """
        if path.is_symlink():
            raise AuditLogError(f"{path} is a link, and an audit log is a file. Remove it.")
        if self._newest is None or self._newest.path != path.absolute():
            found = SqliteFile(path)
            found.check_open()
            return found
        return self._newest

    def _next_to(self, path: Path) -> Path:
        number = 1 if path == self.path else int(path.name[-_DIGITS:])
        return self.path.with_name(f"{self.path.name}.{number + 1:0{_DIGITS}d}")

    def _begin(self, path: Path, seq: int, after: Head | None) -> Path:
        """Make a file that continues the log, unless another process did. Return its path."""
        with making(path.parent):
            if after is None and (before := path.with_suffix(".jsonl")) != path and before.exists():
                raise AuditLogError(
                    f"The audit log {before} has a format before 9, which this version does not continue. Move it to "
                    "your archive, with its head. A new log begins then."
                )
            if not path.exists() and not path.is_symlink():
                make_log(path, lambda connection: chain.make(connection, _MARK + str(seq).encode(), after))
        return path

    def _is_full(self, connection: Connection) -> bool:
        pages, size = (connection.execute(text(f"pragma {what}")).scalar_one() for what in ("page_count", "page_size"))
        return bool((pages + _ROOM) * size > self._largest)

    def _verify(self, path: Path, checked: "_Checked") -> None:
        number = 1
        try:
            with self._file(path).reading() as connection:
                for row in chain.read(connection):
                    checked.add(row)
                    number += row.kind == ACT
        except (LedgerError, ValueError) as error:
            if isinstance(error, LedgerError) and str(error) != CORRUPT:
                raise
            why = "" if isinstance(error, LedgerError) else f": {error}"
            raise AuditLogError(
                f"Line {number} of {path} is wrong{why}. The lines before it are whole. Compare the log with a copy."
            ) from None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except VaultVersionError as error:
            raise AuditLogError(f"{self.path}: {str(error).replace('The ledger', 'The audit log')}") from None
        except LedgerError as error:
            if str(error) != CORRUPT:
                raise AuditLogError(str(error).replace("ledger", "audit log")) from None
            raise AuditLogError(
                f"The last line of {self.path} is damaged. Nothing was written. Find the fault: "
                f"discreet audit-log verify {self.path}"
            ) from None
        except OSError as error:
            raise AuditLogError(
                f"The audit log {self.path} cannot be used: {error.strerror}. Check its folder and the disk."
            ) from None


class _Checked:
    """What the check has seen so far."""

    def __init__(self, head: str | None) -> None:
        self.hash, self.last, self.first = GENESIS, -1, 0
        self._head, self.seen = head, head is None

    def add(self, row: LogRow) -> None:
        """Add a row whose hash was checked.

        Raises:
            ValueError: if it does not continue the rows before. Of a log whose older files were taken away, the first
                row is trusted.
        """
        if row.kind == OPEN:
            seq = _read_mark(row)
            if self.last < 0:
                self.first, self.last = seq + 1, seq
            elif seq != self.last:
                raise ValueError(f"its number is {seq + 1}, and {self.last + 1} was expected")
            elif chain.before_first(row) != self.hash:
                raise ValueError("it does not follow the line before it")
        elif row.part != self.last + (row.kind == ACT):
            raise ValueError(f"its number is {row.part}, and {self.last + 1} was expected")
        self.last += row.kind == ACT
        self.hash = row.hash
        self.seen |= row.hash.hex() == self._head


def _read_last(connection: Connection) -> tuple[Head, int, str]:
    """Return the last row, the number of the last act, and the kind of the last row.

    Raises:
        LedgerError: if the last row is damaged, or if the file is another log.
    """
    start = _read_mark(chain.first(connection))
    rows = [LogRow._make(row) for row in connection.execute(_NEWEST)]
    last, before = rows[0], chain.before_first(rows[0]) if len(rows) == 1 else rows[1].hash
    if last.hash != chain.hash_of(last, before):
        raise LedgerError(CORRUPT)
    return Head(last.id, last.hash, before), start if last.kind == OPEN else last.part, last.kind


def _read_mark(row: LogRow) -> int:
    """Return how many acts the files before had."""
    content = row.content[len(GENESIS) :]
    if not content.startswith(_MARK):
        raise LedgerError(CORRUPT)
    return int(content[len(_MARK) :])


def _line(row: LogRow) -> dict[str, Any]:
    told = json.loads(row.content)
    return {"seq": row.part, "time": row.time, **told, "of": row.question, "hash": row.hash.hex()}


def _check(actor: str, act: str, of: str, details: dict[str, Any]) -> None:
    for name, value in {"actor": actor, "act": act, "of": of, **details}.items():
        try:
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
            plain = not isinstance(value, list | tuple | dict)
        except (TypeError, ValueError):
            plain = False
        if not plain:
            why = "is no text in UTF-8, finite number or truth value"
            raise UsageError(f"The detail '{name}' of an audit log's line {why}.")
