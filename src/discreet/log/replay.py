"""The state of a log in the memory of one process: what the committed rows give, in their order.

Before each use, a process reads the rows that it does not know, in the transaction of that use. It never applies a row
that it appends: it reads that row back later, as those of other processes. So memory has what is committed, and nothing
else. An error while a row is applied, or between an append and the end of its commit, throws the state away; the next
use replays the log, from a checked snapshot on if there is one.

A large log is checked in a thread from its opening on. The thread replays all rows from the first, compares the
snapshot with the state at its row, and hands over its own state. Payments and reports wait for it; what is public may
be read from the snapshot meanwhile, if there is one. A small log is checked when it is opened.

A row counts after its commit alone. If a transaction that appended one fails, whether the row was committed is not
known: the state in memory is thrown away, and comes from the log again.

A counter beside a log detects that the log is an older copy, or another one.
"""

import fcntl
import json
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock, Thread
from typing import Any, Generic, Self, TypeVar

import numpy as np
from sqlalchemy import Connection

from discreet.errors import DiscreetError, LedgerError
from discreet.log import arrays, chain
from discreet.log.arrays import Arrays
from discreet.log.chain import CORRUPT, GENESIS, Entry, Head, LogRow, ReplacedError, before_first, first, read
from discreet.log.postgres import PostgresSchema
from discreet.log.sqlite import SqliteFile
from discreet.system.databases import at_fork, members
from discreet.system.words import quoted

LARGE = 2**22
"""The size of a log, in bytes, from which its check runs in a thread. A smaller one is checked in about 0.1 seconds."""
SNAPSHOT_AFTER = 1000
"""The number of rows after a snapshot from which the check writes another one."""

_FORM = 4
"""The form of snapshots. A snapshot of another form is made anew."""


class State:
    """What the rows of a log give: the base class of a ledger's and of the accounts'.

    Attributes:
        head: the last row that the state has. `LogReplay` sets it.
    """

    head: Head

    @property
    def reached(self) -> "Reached":
        """How far the log is: what `Counter` notes."""
        return Reached(0, 0, self.head.id, self.head.hash.hex())

    @classmethod
    def begin(cls, row: LogRow) -> Self:
        """Return the state after the first row."""
        raise NotImplementedError

    def apply(self, row: LogRow) -> None:
        """Add the next row. An error leaves a state that must not be used."""
        raise NotImplementedError

    def pack(self) -> tuple[dict[str, Any], Arrays]:
        """Return the state as a header of plain data, and arrays. Equal states give equal ones. For a snapshot."""
        raise NotImplementedError

    def unpack(self, header: dict[str, Any], content: Arrays) -> None:
        """Take over a state that `pack` returned; this one is new. It may keep the arrays, and write to them."""
        raise NotImplementedError


S = TypeVar("S", bound=State)


class LogReplay(Generic[S]):
    """The state of a log. Threads may share it; a child of a fork inherits it."""

    def __init__(self, kind: type[S], snapshot: Path | None = None) -> None:
        """Know no row yet.

        Args:
            kind: the class of the state.
            snapshot: the path of the snapshot; None without one.
        """
        self._kind, self._snapshot = kind, snapshot
        self._state: S | None = None
        self._trusted: tuple[int, ...] | None = None  # the file that was compared with the log, or written from it
        self.lock = RLock()
        self.late: LateCheck | None = None
        _REPLAYS.add(self)

    @contextmanager
    def caught_up(self, connection: Connection) -> Iterator[S]:
        """Yield the state with all rows that the transaction sees. No other thread has it during the block.

        Raises:
            LedgerError: if a row is missing, or was changed.
        """
        with self.lock:
            state, self._state = self._state, None  # an error below leaves none
            state = self._advance(connection, state)
            self._state = state
            yield state

    def forget(self) -> None:
        """Throw the state away: the next use replays the log."""
        with self.lock:
            self._state = None

    def drop_snapshot(self) -> None:
        """Delete the snapshot, which is a cache: it may have what its log loses."""
        with self.lock:
            self._trusted = None
            if self._snapshot is not None:
                self._snapshot.unlink(missing_ok=True)

    def check(self, connection: Connection, *, large: bool = False) -> S:
        """Replay the whole log, and keep the state. Return it.

        Args:
            connection: a transaction that reads.
            large: whether to compare the snapshot with the log, and to write another one if it is late.

        Raises:
            LedgerError: if a row is missing or was changed, or if the snapshot differs from the log.
        """
        path = self._snapshot if large else None
        trusted, snapshot = (None, None) if path is None else (arrays.identity(path), _load(path))
        state, compared = None, False
        for row in read(connection):
            state = self._start(row) if state is None else _apply(state, row)
            # A snapshot of a row that a power cut undid is of no use, and of no harm.
            if snapshot is not None and state.head == _head_of(snapshot):
                compared = True
                if not _equal(snapshot, _labelled(state)):
                    raise LedgerError(
                        f"The snapshot {path} differs from the ledger at row {row.id}. Nothing was charged or "
                        f"released. Delete it; it is only a cache: rm {path}"
                    )
        assert state is not None  # a log has a first row
        if path is not None and (
            snapshot is None or not compared or state.head.id >= _head_of(snapshot).id + SNAPSHOT_AFTER
        ):
            trusted = arrays.save(path, *_labelled(state))
        with self.lock:
            # The state of the snapshot may be mapped from a file; that of the check is the log's own.
            self._state, self._trusted = state, trusted
        return state

    def check_meanwhile(self, check: Callable[[], None]) -> None:
        """Run the check of the whole log in a thread."""
        self.late = LateCheck(check)

    def wait(self, *, checked: bool = True) -> None:
        """Wait for the check; without `checked`, only if nothing is known of the log until then.

        Raises:
            LedgerError: if the check ended, and the log is not sound, or could not be checked.
        """
        has_state = self._state is not None or (self._snapshot is not None and self._snapshot.exists())
        if self.late is not None and (checked or not has_state or not self.late.is_alive()):
            self.late.wait()

    def _advance(self, connection: Connection, state: S | None) -> S:
        """Return the state after the rows that it lacks."""
        try:
            return self._replayed(connection, state or self._from_snapshot(connection))
        except ReplacedError:
            self._trusted = None  # the log was put back: the snapshot may have rows that it lacks
            return self._replayed(connection, None)

    def _replayed(self, connection: Connection, state: S | None) -> S:
        for row in read(connection, None if state is None else state.head):
            state = self._start(row) if state is None else _apply(state, row)
        assert state is not None  # a log has a first row
        return state

    def _from_snapshot(self, connection: Connection) -> S | None:
        """Return the state of the snapshot: during the check, for what is public, and after it, if it was compared."""
        checking = self.late is not None and self.late.is_alive()
        if self._snapshot is None or not (
            checking or (self._trusted and self._trusted == arrays.identity(self._snapshot))
        ):
            return None
        if (snapshot := _load(self._snapshot)) is None:
            return None
        state = self._start(first(connection))
        try:
            state.unpack(snapshot[0]["state"], snapshot[1])
            state.head = _head_of(snapshot)
        except (KeyError, TypeError, ValueError, IndexError):
            return None
        return state

    def _start(self, row: LogRow) -> S:
        state = self._kind.begin(row)
        state.head = Head(row.id, row.hash, before_first(row))
        return state


class LateCheck(Thread):
    """A check that runs in a thread, from its creation on."""

    def __init__(self, check: Callable[[], None]) -> None:
        super().__init__(name="check of the ledger")
        self._check, self._error = check, "The check of the ledger did not end. Nothing was released. Try again."
        self.start()

    def wait(self) -> None:
        """Wait for the result.

        Raises:
            LedgerError: if the log is not sound, or if it could not be checked.
        """
        self.join()
        if self._error:
            raise LedgerError(self._error)

    def run(self) -> None:
        """Make the check."""
        try:
            self._check()
            self._error = ""
        except DiscreetError as error:
            self._error = str(error)
        except BaseException as error:
            self._error = f"The ledger could not be checked ({type(error).__name__}). Nothing was released. Try again."
        finally:
            del self._check  # it has the log, whose connections are closed when nothing has it any more


def _apply(state: S, row: LogRow) -> S:
    """Add a row to a state. A row that the chain accepts and the state does not is corrupt, too."""
    before = state.head.hash
    try:
        state.apply(row)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, ArithmeticError):
        raise LedgerError(CORRUPT) from None
    state.head = Head(row.id, row.hash, before)
    return state


def _load(path: Path) -> tuple[dict[str, Any], Arrays] | None:
    """Return the snapshot at `path`; None if there is none of this form."""
    snapshot = arrays.load(path)
    return snapshot if snapshot is not None and snapshot[0].get("form") == _FORM else None


def _labelled(state: State) -> tuple[dict[str, Any], Arrays]:
    """Return the content of the snapshot of a state."""
    header, content = state.pack()
    head = state.head
    return {"form": _FORM, "head": [head.id, head.hash.hex(), head.before.hex()], "state": header}, content


def _head_of(found: tuple[dict[str, Any], Arrays]) -> Head:
    """Return the row after which a snapshot was made; the place before all rows for a damaged one."""
    try:
        number, after, before = found[0]["head"]
        return Head(int(number), bytes.fromhex(after), bytes.fromhex(before))
    except (KeyError, TypeError, ValueError):
        return Head(0, GENESIS, b"")


def _equal(one: tuple[dict[str, Any], Arrays], other: tuple[dict[str, Any], Arrays]) -> bool:
    return one[0] == other[0] and len(one[1]) == len(other[1]) and all(map(np.array_equal, one[1], other[1]))


_REPLACED = "The ledger was replaced by a copy without this change. Nothing was released. Run: discreet doctor VAULT"
Place = SqliteFile | PostgresSchema
"""Where a log is."""


class Transaction(Generic[S]):
    """A transaction, and what it appends.

    Attributes:
        connection: its connection.
        state: what all rows give that it sees. It lacks what the transaction appends.
        head: the last row, with those that it appended.
        appended: whether it wrote, so that its commit must be on disk before anything follows from it.
    """

    def __init__(self, connection: Connection, state: S) -> None:
        self.connection, self.state, self.head, self.appended = connection, state, state.head, False

    def append(self, entry: Entry) -> None:
        """Append a row. The transaction must be one that writes."""
        self.appended = True
        self.head = chain.append(self.connection, self.head, entry)


class Log(Generic[S]):
    """An open log. Threads and forked processes may share it.

    Attributes:
        place: where it is.
        replay: its state in this process.
        counter: what was seen of the log before; None for none.
    """

    def __init__(self, place: Place, kind: type[S], snapshot: Path | None = None) -> None:
        """Open a log. A small one is checked; the check of a large one starts in a thread.

        Args:
            place: where it is.
            kind: the class of its state.
            snapshot: the file for a snapshot of a large log; None for none.

        Raises:
            LedgerError: if it is missing, corrupt or out of reach.
            VaultVersionError: if it has another format.
        """
        self.place, self.replay = place, LogReplay(kind, snapshot)
        self.counter: Counter | None = None
        if place.check_open() >= LARGE:
            self.replay.check_meanwhile(lambda: self._check(large=True))
        else:
            self._check(large=False)

    @contextmanager
    def reading(self, *, checked: bool = False) -> Iterator[Transaction[S]]:
        """Run the block on one consistent state; with `checked`, after the check of the whole log.

        The block opens no other transaction of the log: the check hands its state over when no thread has one.

        Raises:
            LedgerError: if the check ended, and the log or its snapshot is not sound.
        """
        self.replay.wait(checked=checked)
        with self.place.reading() as connection, self.replay.caught_up(connection) as state:
            yield Transaction(connection, state)

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Transaction[S]]:
        """Run the block alone with the log that was checked. No other one writes meanwhile.

        With `durable`, the log is not older than its counter, and the rows are on disk at the end, and noted.

        Raises:
            LedgerError: if it is older than the counter, or another copy: nothing was written. Or if it was replaced
                before the commit: what was written is lost, and nothing may follow from it.
        """
        self.replay.wait()
        transaction: Transaction[S] | None = None
        try:
            with self.place.writing(durable=durable) as connection, self.replay.caught_up(connection) as state:
                transaction = Transaction(connection, state)
                if durable and self.counter is not None:
                    # Under the lock, all rows that the counter may name are committed.
                    self.counter.check(self.counter.known(), transaction)
                yield transaction
        except BaseException:
            if transaction is not None and transaction.appended:
                self.replay.forget()
            raise
        if durable and transaction.appended:
            self._note(transaction.head)

    def reached(self) -> "Reached":
        """Return the state of the log as numbers that only grow."""
        with self.reading() as view:
            return view.state.reached

    def note(self) -> None:
        """Write the state of the log, read back from its rows, to its counter."""
        if self.counter is not None:
            self.counter.note(self.reached())

    def _sync(self, transaction: Transaction[S]) -> None:
        """Have the commit bring all rows before it to the disk: a killed process may have written one without that.

        A server shows a durable row to others only when it is on disk.
        """
        transaction.appended = True
        if isinstance(self.place, SqliteFile):
            self.place.sync_rows(transaction.connection)

    def _note(self, head: Head) -> None:
        """Note the state after a durable transaction, whose last row is `head`, read from the place that is named now.

        A file that is replaced while a payment waits for its lock takes the payment along.

        Raises:
            LedgerError: if the log lacks that row.
        """
        with self.reading() as view:
            # The rows of a log that was closed meanwhile are gone, and count. The numbers of rows go on.
            if chain.hash_at(view.connection, head.id) != head.hash and chain.first(view.connection).id <= head.id:
                self.replay.forget()
                raise LedgerError(_REPLACED)
            if self.counter is not None:
                self.counter.note(view.state.reached)

    def check_counter(self, counter: "Counter") -> None:
        """Take over a counter.

        Raises:
            LedgerError: if the log is older than the counter, or another copy.
        """
        noted = counter.known()  # first: another process may write meanwhile, and the log is then ahead
        with self.reading() as view:
            counter.check(noted, view)
        self.counter = counter

    def _check(self, *, large: bool) -> None:
        with self.place.reading() as connection:
            self.place.check_pages(connection)
            self.replay.check(connection, large=large)


COUNTER = "counter.json"
_WIDTH = 200


@dataclass(frozen=True)
class Reached:
    """The state of a log as numbers that only grow.

    Attributes:
        questions: the number of questions that began.
        payments: the number of payments and reservations of questions and synthetic corpora, plus the number of
            balances that were moved to another name of a unit.
        row: the number of the last durable row; 0 if it is not known.
        hash: the hash of that row, in hexadecimal digits.
    """

    questions: int
    payments: int
    row: int = field(default=0, compare=False)
    hash: str = field(default="", compare=False)

    def is_older(self, than: "Reached") -> bool:
        """Return whether this state lacks questions, payments or rows of the other state."""
        return self.questions < than.questions or self.payments < than.payments or self.row < than.row


class Counter:
    """The last known state of a log: the numbers of questions and payments, and the last durable row.

    A process remembers what it noted, so that it notices an older log also where the file is lost, is put back with
    the log, or cannot be written.

    The number of questions is public; the number of payments is for the custodian. The file is written in place after a
    durable row was read back from the log, so it is never ahead of the log. It never names a row that was written
    without a sync (a settlement): a power cut may undo that. After a power cut it may lag: then it detects less, but
    refuses nothing wrongly. It detects an older or another log in a newer folder, and in the database of a newer
    folder. It cannot detect that the whole folder was restored from an older copy.

    Attributes:
        path: the path of its file; None to remember the state in this process alone.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._seen: Reached | None = None

    def read(self) -> Reached | None:
        """Return the state in the file; None if there is none, or if the file is damaged."""
        if self.path is None:
            return None
        try:
            fields = json.loads(self.path.read_text(encoding="ascii"))
            reached = Reached(fields["questions"], fields["payments"], fields["row"], fields["hash"])
            sound = type(reached.hash) is str and len(bytes.fromhex(reached.hash)) == 32
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        numbers = reached.questions, reached.payments, reached.row
        return reached if sound and all(type(number) is int and number >= 0 for number in numbers) else None

    def known(self) -> list[Reached]:
        """Return what is known of the log: what this process noted, and what the file has."""
        both = (self.read(), self._seen)  # mostly the same row, which is then looked up once
        return list({one.hash: one for one in both if one is not None}.values())

    def forget(self) -> None:
        """Forget what is known."""
        self._seen = None
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def check(self, known: list[Reached], found: Transaction[Any]) -> None:
        """Check that a log is not older than what is known of it, and that it is no other one.

        Args:
            known: what `known` returned before the transaction began, or within one that writes.
            found: the transaction.

        Raises:
            LedgerError: if the log lacks known questions, payments or rows, or has another row in the place of one.
        """
        for one in known:
            if (now := found.state.reached).is_older(one):
                raise self.older(now, one)
            row = chain.hash_at(found.connection, one.row)  # None for a row of a log that was closed
            if row is not None and row.hex() != one.hash:
                raise self.forked(one.row)

    def older(self, now: Reached, known: Reached) -> DiscreetError:
        """Return the error of a log that lacks what is known. It omits the number of payments: some are private."""
        return LedgerError(
            f"The ledger is older than the newest question. It has {now.questions} of {known.questions} questions, or "
            f"lacks payments, so that the same budget could be spent again. {self._remedy()}"
        )

    def forked(self, row: int) -> DiscreetError:
        """Return the error of a log with another row in the place of a known one. No hash: it depends on who paid."""
        return LedgerError(
            f"The ledger is another copy than the newest one: its row {row} is not the one that is known. The same "
            f"budget could be spent twice. {self._remedy()}"
        )

    def note(self, now: Reached) -> None:
        """Remember the state of the log, and write it unless the file is ahead, or cannot be written."""
        if self._seen is None or self._seen.is_older(now):
            self._seen = now
        if self.path is None:
            return
        with suppress(OSError):
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)  # as the log; never by a link
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                before = self.read()
                if before is None or before.is_older(now):
                    self._write(file, now)
            finally:
                os.close(file)

    def _remedy(self) -> str:
        folder = quoted(self.path.parent) if self.path is not None else "VAULT"
        return (
            f"Restore the newest ledger. If it is lost: discreet backup {folder} COPY, then discreet restore COPY "
            "NEWVAULT --force. See docs/operate.md."
        )

    def _write(self, file: int, now: Reached) -> None:
        # All contents have one length, so that one write replaces the file and never truncates it.
        content = {"questions": now.questions, "payments": now.payments, "row": now.row, "hash": now.hash}
        os.pwrite(file, (json.dumps(content).ljust(_WIDTH - 1) + "\n").encode(), 0)
        os.ftruncate(file, _WIDTH)  # a damaged file may be longer


_REPLAYS: "weakref.WeakSet[LogReplay[Any]]" = weakref.WeakSet()
_held: list[LogReplay[Any]] = []


def _before_fork() -> None:
    """Wait for checks, and until no thread has a state: a child has no thread that could finish it."""
    for replay in (replays := members(_REPLAYS)):
        if replay.late is not None:
            replay.late.join()
    for replay in replays:
        replay.lock.acquire()
        _held.append(replay)


def _after_fork() -> None:
    while _held:
        _held.pop().lock.release()


at_fork(_before_fork, _after_fork)
