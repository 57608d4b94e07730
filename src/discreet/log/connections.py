"""Engines that pool connections between transactions, and close them before a fork."""

import os
import weakref

from sqlalchemy import Engine

from discreet.system.weak_sets import members

_ENGINES: "weakref.WeakSet[Engine]" = weakref.WeakSet()


def pool(engine: Engine) -> Engine:
    """Register an engine, so that its idle connections are closed before this process forks. Return the engine.

    SQLite's locks do not survive a fork, and processes cannot share a connection over a socket.
    """
    _ENGINES.add(engine)
    return engine


def closing_with(owner: object, engine: Engine) -> Engine:
    """Close an engine's connections when `owner` is deleted, and at the end of the program. Return the engine."""
    weakref.finalize(owner, engine.dispose)
    return engine


def _close_idle() -> None:
    for engine in members(_ENGINES):
        engine.dispose()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_idle)
