"""Links with which the custodian logs in: each works once, and for a while.

The hash of the newest link is in STATE/run/desk.link, which the keeper's user alone may read and write. So a link can
be made by that user alone: `discreet serve` prints one, and `discreet desk-link VAULT` another.
"""

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from discreet.server.config import ServeConfig

LASTS = 3600.0
"""Seconds for which a link works."""
_FILE, _ADDRESS = "desk.link", "desk.url"
_LONGEST = 256


def make_link(config: ServeConfig, clock: Callable[[], float] = time.time) -> str:
    """Return a new link, and note the desk's address. The link before it does not work any more."""
    note_address(config)
    return _link(config.run, config.desk_url, clock)


def note_address(config: ServeConfig) -> None:
    """Note the desk's address for `make_another`."""
    config.run.mkdir(parents=True, exist_ok=True)  # the desk may start before the keeper
    (config.run / _ADDRESS).write_text(config.desk_url)


def make_another(run: Path) -> str | None:
    """Return a new link to the desk of a server by its folder of sockets; None if no desk was started there."""
    try:
        address = (run / _ADDRESS).read_text()
    except FileNotFoundError:
        return None
    return _link(run, address, time.time)


def _link(run: Path, address: str, clock: Callable[[], float]) -> str:
    token = secrets.token_urlsafe(32)
    path = run / _FILE
    beside = path.with_name(f"{_FILE}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{_digest(token)} {clock():.3f}\n")
    os.replace(beside, path)
    return f"{address}/login?token={token}"


def redeem(config: ServeConfig, token: str, clock: Callable[[], float] = time.time) -> bool:
    """Return whether a token is that of the newest link, which then does not work any more."""
    path = config.run / _FILE
    try:
        digest, made = _read_own(path).split()
        fresh = 0 <= clock() - float(made) <= LASTS
    except (OSError, ValueError):
        return False
    if not hmac.compare_digest(digest, _digest(token[:_LONGEST])) or not fresh:
        return False
    try:
        path.unlink()  # of two that come at once, one removes it
    except FileNotFoundError:
        return False
    return True


def _read_own(path: Path) -> str:
    """Return the text of a file that this user wrote, and no other."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)) as file:
        if os.fstat(file.fileno()).st_uid != os.geteuid():
            raise PermissionError
        return file.read(_LONGEST)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
