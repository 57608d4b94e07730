"""Mutual exclusion: one thread at a time uses an object."""

import os
import threading
import weakref
from collections.abc import Callable, Collection
from functools import wraps
from inspect import isfunction
from typing import Any, Protocol, TypeVar

from discreet.system.weak_sets import members


class Turn:
    """A reentrant lock. A process forks only while no other thread holds one."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _TURNS.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class InTurns(Protocol):
    """An object that one thread at a time uses."""

    turn: Turn


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


_TURNS: "weakref.WeakSet[Turn]" = weakref.WeakSet()
_HELD = threading.local()


def _take_all() -> None:
    """Take all locks. Otherwise a child process would inherit half-done work, and locks that stay held for ever."""
    _HELD.turns = sorted(members(_TURNS), key=id)
    for turn in _HELD.turns:
        turn.__enter__()


def _let_go() -> None:
    for turn in _HELD.turns:
        turn.__exit__()
    _HELD.turns = []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_let_go, after_in_child=_let_go)
