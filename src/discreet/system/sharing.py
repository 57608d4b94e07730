"""What threads and forked processes share: locks, and engines with pooled connections.

One thread at a time uses an object. A process forks only while no other thread holds a lock, and closes its idle
connections before.
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
from weakref import WeakSet

if TYPE_CHECKING:
    from sqlalchemy import Engine

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
