"""Links with which the custodian logs in: each works once, and for a while.

The hash of the newest link is in STATE/run/desk.link, which the keeper's user alone may read and write. So whoever may
open the vault may make a link: `discreet serve` prints one, and `discreet desk-link VAULT` another.
"""

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable

from discreet.server.config import ServeConfig

LASTS = 3600.0
"""Seconds for which a link works."""
_FILE = "desk.link"
_LONGEST = 256


def make_link(config: ServeConfig, clock: Callable[[], float] = time.time) -> str:
    """Return a new link. The one before it does not work any more."""
    token = secrets.token_urlsafe(32)
    path = config.run / _FILE
    beside = path.with_name(f"{_FILE}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{_digest(token)} {clock():.3f}\n")
    os.replace(beside, path)
    return f"{config.desk_url}/login?token={token}"


def redeem(config: ServeConfig, token: str, clock: Callable[[], float] = time.time) -> bool:
    """Return whether a token is that of the newest link, which then does not work any more."""
    path = config.run / _FILE
    try:
        digest, made = path.read_text().split()
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


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
