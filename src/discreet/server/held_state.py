"""One server for each state folder: a second one would ask the keeper of the first, and its own keeper cannot start."""

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from discreet.errors import UsageError
from discreet.server.config import ServeConfig

KEEPER_LOCK = "keeper.lock"
"""A file in `run` that a keeper holds while it runs."""
SERVER_LOCK = "server.lock"
"""A file in `run` that `discreet serve` holds while it runs. It has the number of the process."""
_PATIENCE = 20.0
"""Seconds in which the keeper of a server that was killed may end."""
_STEP = 0.1


@contextmanager
def hold_state(config: ServeConfig, say: Callable[[str], None], patience: float = _PATIENCE) -> Iterator[None]:
    """Hold the state folder for one server, until the block ends.

    Args:
        config: the server's; its folder is there.
        say: told why this takes a while.
        patience: the seconds to wait for a keeper without a server.

    Raises:
        UsageError: if another server or keeper holds the folder.
    """
    with lock_file(config.run / SERVER_LOCK) as held:
        if held is None:
            raise UsageError(
                f"Another server ({_who(config.run / SERVER_LOCK)}) uses the state folder {config.state}, and serves "
                "its vaults. Stop it (Ctrl-C, or kill), or name another folder: --state DIR"
            )
        held.truncate(0)
        held.write(f"process {os.getpid()} on {socket.gethostname()}")
        held.flush()
        _wait_for_keeper(config, say, patience)
        yield


@contextmanager
def lock_file(path: Path) -> Iterator[IO[str] | None]:
    """Yield a file that no other process holds until the block ends; None if another one does."""
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
        else:
            yield file


def _wait_for_keeper(config: ServeConfig, say: Callable[[str], None], patience: float) -> None:
    """Wait for a keeper that answers its last question after its server was killed."""
    ends, said = time.monotonic() + patience, False
    while not _is_free(config.run / KEEPER_LOCK):
        if not said:
            say(f"A keeper still runs in {config.state}. Waiting up to {patience:g} s for its end.")
            said = True
        if time.monotonic() >= ends:
            raise UsageError(
                f"A keeper without `discreet serve` uses the state folder {config.state}. Stop it, wait until its "
                "last question is answered, or name another folder: --state DIR"
            )
        time.sleep(_STEP)


def _is_free(path: Path) -> bool:
    with lock_file(path) as held:
        return held is not None


def _who(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip() or "process unknown"
    except (OSError, ValueError):
        return "process unknown"
