"""Where the accounts of a server are: a file in its folder, or a database that several servers share.

STATE/accounts.url   the URL of the shared accounts. The custodian writes it (`discreet key share`); the front reads it.
STATE/front/server   the id of this server. The shared accounts name by it who has a question in flight.
"""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from discreet.errors import UsageError
from discreet.system.database_url import check_no_password, is_postgres

ACCOUNTS = "front/accounts.sqlite"
"""The accounts of one server, in its folder."""
_URL, _ID = "accounts.url", "front/server"
_RIGHTS = 0o644
"""The front's user reads the file. The URL has no password."""


def find_accounts(state: Path) -> Path | str:
    """Return the file of a server's accounts, or the URL of those that it shares.

    Raises:
        UsageError: if there is a URL that cannot be read. The file in the folder is never used in its place: the caps
            of the keys would count twice.
    """
    path = state / _URL
    try:
        url = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return state / ACCOUNTS
    except (OSError, ValueError):
        raise UsageError(f"{path} cannot be read. Let the server's users read it: chmod 644 {path}") from None
    if not is_postgres(url):
        raise UsageError(f"{path} has no URL of a database. Write it again: discreet key share VAULT URL")
    return url


def share_accounts(state: Path, url: str, reach: Callable[[str], object] = lambda _: None) -> None:
    """Have a server use accounts in a database.

    Args:
        state: the server's folder.
        url: the URL of the database.
        reach: opens the accounts there, before anything is written; its error stops it.

    Raises:
        UsageError: if the URL is not that of a PostgreSQL database, or if it contains a password; if the server has
            accounts in its folder or in another database, whose keys would be lost; or if the file cannot be written.
    """
    if not is_postgres(url):
        raise UsageError("The URL of the accounts is invalid. Expected: postgresql://user@host/database.")
    check_no_password(url, "accounts")
    if (state / ACCOUNTS).exists():
        raise UsageError(
            f"There are keys in {state / ACCOUNTS} already, which the shared accounts do not have. Move the file away "
            "with the counter beside it, and issue the keys again: discreet key issue VAULT NAME --epsilon 10"
        )
    before = find_accounts(state)
    if isinstance(before, str) and before != url:
        raise UsageError(f"The server shares other accounts already. Stop it, and remove {state / _URL} first.")
    reach(url)
    try:
        state.mkdir(parents=True, exist_ok=True)
        (state / _URL).write_text(f"{url}\n", encoding="utf-8")
        (state / _URL).chmod(_RIGHTS)
    except OSError as error:
        raise UsageError(f"{state} cannot be written: {error.strerror}. Name another folder: --state DIR") from None


def read_server_id(state: Path) -> str:
    """Return the id of a server, which is made at its first start.

    Raises:
        UsageError: if it cannot be read or made.
    """
    path = state / _ID
    try:
        with suppress(FileExistsError), open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(16))
        found = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        found = ""
    if len(found) != 32:
        raise UsageError(f"{path} cannot be used. Remove it; the server makes it anew when it starts.")
    return found
