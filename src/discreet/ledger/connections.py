"""Engines: they keep connections between transactions, but leave none of them to a forked child."""

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine

from discreet.system.weak_sets import members

_ENGINES: "weakref.WeakSet[Engine]" = weakref.WeakSet()


def pool(engine: Engine) -> Engine:
    """Return the same engine; its idle connections are closed before this process forks.

    SQLite's locks do not survive a fork, and a connection over a socket cannot be shared.
    """
    _ENGINES.add(engine)
    return engine


def closing_with(owner: object, engine: Engine) -> Engine:
    """The same engine; what it keeps is closed when `owner` goes, and at the end of the program."""
    weakref.finalize(owner, engine.dispose)
    return engine


@contextmanager
def closed(engine: Engine) -> Iterator[Engine]:
    """The same engine; what it keeps is closed at the end."""
    try:
        yield engine
    finally:
        engine.dispose()


def _close_idle() -> None:
    for engine in members(_ENGINES):
        engine.dispose()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_idle)
