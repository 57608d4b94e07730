"""Forks thirty times while a thread opens what fork hooks look at: python -m tests.system.forking turns|engines.

What goes wrong before a fork is printed as unraisable, and nothing else is. This is a process of its own because a fork
runs all hooks of a process, and a process with all tests has very many engines.
"""

import os
import sys
import threading
from collections.abc import Callable

from sqlalchemy import create_engine

from discreet.system.databases import TurnLock, pool

MAKERS: dict[str, Callable[[], object]] = {"turns": TurnLock, "engines": lambda: pool(create_engine("sqlite://"))}
FORKS, HELD = 30, 20


def fork_beside(kind: str) -> None:
    """Fork while a thread opens and closes things of a kind."""
    stop = threading.Event()

    def open_things() -> None:
        held = list[object]()
        while not stop.is_set():
            held.append(MAKERS[kind]())
            if len(held) > HELD:
                held.clear()

    thread = threading.Thread(target=open_things)
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(FORKS):
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
    finally:
        stop.set()
        thread.join()


if __name__ == "__main__":
    fork_beside(sys.argv[1])
