"""The URLs of databases in a vault's settings. Other users may read the settings, so they hold no password."""

from urllib.parse import parse_qs, urlsplit

from discreet.errors import UsageError

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
