"""Databases: their URLs in a vault's settings, what their errors mean, and what threads and forked processes share.

Other users may read the settings, so URLs hold no password. A ledger and a store have their own words for each meaning
of an error. One thread at a time uses an object. A process forks only while no other thread holds a lock, and closes
its idle connections before.
"""

import fcntl
import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import parse_qs, urlsplit
from weakref import WeakSet

from discreet.errors import UsageError

if TYPE_CHECKING:
    from sqlalchemy import Engine


# --- addresses and errors ---------------------------------------------------------------------------------------------


SCHEME = "postgresql"
LINK = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
}
"""How long a client waits for a server behind a cut link: 30 seconds. Without these, it waits for minutes or hours: its
system sends again what was not received for a quarter of an hour, and looks after a silent server every two hours."""

_REFUSALS = ("password", "authentication", "does not exist", "pg_hba.conf", "SSL was required", "certificate")


def is_postgres(text: str) -> bool:
    """Return whether a text has the form of the URL of a PostgreSQL database."""
    return text.startswith(f"{SCHEME}://")


def is_refusal(message: str) -> bool:
    """Return whether the message of a failed connection says that a server answered, and refused it.

    Such a failure has no code. Without one of these words, and in other languages, the server may be out of reach.
    """
    return any(said in message for said in _REFUSALS)


def check_no_password(url: str, what: str) -> None:
    """Check that a vault may keep the URL of a database in its settings.

    Args:
        url: the URL. No error shows it.
        what: the part of the vault that the database keeps, such as "ledger".

    Raises:
        UsageError: if the URL is invalid, or if it contains a password.
    """
    try:
        address = urlsplit(url)
        password = address.password or {"password", "sslpassword"} & parse_qs(address.query).keys()
    except ValueError:
        raise UsageError(f"The {what} URL is invalid. Expected: postgresql://user@host/database.") from None
    if password:
        raise UsageError(
            f"The {what} URL contains a password, which the vault would store. Remove the password from the URL, and "
            "set it in PGPASSWORD or in a .pgpass file."
        )


_MEANINGS = {
    # SQLSTATE of PostgreSQL
    "08": "unreached",
    "57": "unreached",  # the server stops or starts
    "25P03": "unreached",  # this process was suspended during a transaction
    "28": "refused",
    "3D000": "refused",
    "3F000": "missing",
    "42P01": "missing",
    "25006": "unwritable",
    "42501": "unwritable",
    "42P06": "exists",
    "53100": "full",
    "53": "crowded",
    "55P03": "busy",
    "40": "busy",
    "58": "disk",
    "23505": "twice",
    "XX": "damaged",
    "23": "damaged",
    "42": "damaged",  # the statements are fixed: if one fails, a table is damaged
    # error names of SQLite
    "SQLITE_READONLY": "unwritable",
    "SQLITE_PERM": "unwritable",
    "SQLITE_CANTOPEN": "unopened",
    "SQLITE_FULL": "full",
    "SQLITE_BUSY": "busy",
    "SQLITE_IOERR_WRITE": "unwritten",
    "SQLITE_IOERR": "disk",
    "SQLITE_CORRUPT": "damaged",
    "SQLITE_NOTADB": "damaged",
    "SQLITE_CONSTRAINT": "twice",
    "SQLITE_ERROR": "damaged",
}
_UNSAID = ("OperationalError", "ConnectionTimeout", "InterfaceError")


def meaning_of(error: BaseException) -> str:
    """Return what an error of psycopg, sqlite3 or SQLAlchemy means, as a word of `_MEANINGS`; "" if it is unknown."""
    if type(error).__name__ in ("NoResultFound", "MultipleResultsFound", "UnicodeDecodeError"):
        return "damaged"  # a required row is missing, occurs twice, or cannot be read
    cause = getattr(error, "orig", None) or error
    name = getattr(cause, "sqlstate", None) or getattr(cause, "sqlite_errorname", None)
    if name is None:
        is_link = type(cause).__module__.startswith("psycopg") and type(cause).__name__ in _UNSAID
        return ("refused" if is_refusal(str(cause)) else "unreached") if is_link else ""
    return next((meaning for start, meaning in _MEANINGS.items() if str(name).startswith(start)), "")


# --- threads and forks ------------------------------------------------------------------------------------------------


T = TypeVar("T")
ANSWERING = "answering"


def members(of: WeakSet[T]) -> list[T]:
    """Return the members of a weak set, also while other threads add members."""
    while True:
        try:
            return list(of)
        except RuntimeError:  # another thread changed the set
            continue


class TurnLock:
    """A reentrant lock. A process forks only while no other thread holds one."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _TURNS.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def enter_now(self) -> bool:
        """Take the lock if no other thread holds it. Return whether it was taken."""
        return self._lock.acquire(blocking=False)


class InTurns(Protocol):
    """An object that one thread at a time uses."""

    turn: TurnLock


K = TypeVar("K", bound=type[InTurns])


def taking_turns(*, but: Collection[str] = ()) -> Callable[[K], K]:
    """Return a class decorator that runs the methods of the class under the object's lock.

    Args:
        but: methods that need no lock, or lock a part of their work by calling another method.
    """

    def in_turns(kind: K) -> K:
        for name, method in list(vars(kind).items()):
            if isfunction(method) and name not in but and not name.startswith("__"):
                setattr(kind, name, _in_turn(method))
        return kind

    return in_turns


def _in_turn(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def waiting(self: InTurns, *args: Any, **options: Any) -> Any:
        with self.turn:
            return method(self, *args, **options)

    return waiting


@contextmanager
def answering(folder: Path) -> Iterator[None]:
    """Hold a mark in a folder while a question is answered for others: `wait_for_answers` waits for it."""
    with (folder / ANSWERING).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def wait_for_answers(folder: Path) -> None:
    """Return when no question is being answered for others.

    Long work beside a server calls it again and again, so that no answer takes longer for it than was measured.
    """
    with suppress(FileNotFoundError), (folder / ANSWERING).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # and let go at once: a question that begins now waits for no work


def pool(engine: "Engine") -> "Engine":
    """Register an engine, so that its idle connections are closed before this process forks. Return the engine.

    SQLite's locks do not survive a fork, and processes cannot share a connection over a socket.
    """
    _ENGINES.add(engine)
    return engine


def closing_with(owner: object, engine: "Engine") -> "Engine":
    """Close an engine's connections when `owner` is deleted, and at the end of the program. Return the engine."""
    weakref.finalize(owner, engine.dispose)
    return engine


def at_fork(before: Callable[[], None], after: Callable[[], None]) -> None:
    """Run `before` ahead of each fork, when no other thread holds a turn, and `after` behind it in both processes.

    A thread takes such inner locks while it holds a turn. So they are taken after all turns: otherwise both would wait.
    """
    _INNER.append((before, after))


_TURNS: "WeakSet[TurnLock]" = WeakSet()
_INNER: list[tuple[Callable[[], None], Callable[[], None]]] = []
_ENGINES: "WeakSet[Engine]" = WeakSet()
_HELD = threading.local()


def _prepare_fork() -> None:
    """Take all locks, and close idle connections.

    Otherwise a child process would inherit half-done work, locks that stay held for ever, and shared connections.
    """
    _HELD.turns = _enter_all(members(_TURNS))
    for before, _ in _INNER:
        before()
    for engine in members(_ENGINES):
        engine.dispose()


def _enter_all(turns: list[TurnLock]) -> list[TurnLock]:
    """Take all locks. None is held while another one is waited for: its holder may want the first one, too."""
    while True:
        entered = list[TurnLock]()
        for turn in turns:
            if not turn.enter_now():
                break
            entered.append(turn)
        else:
            return entered
        for one in entered:
            one.__exit__()
        with turn:  # until its holder is done with it
            pass


def _let_go() -> None:
    for _, after in _INNER:
        after()
    for turn in _HELD.turns:
        turn.__exit__()
    _HELD.turns = []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_prepare_fork, after_in_parent=_let_go, after_in_child=_let_go)
