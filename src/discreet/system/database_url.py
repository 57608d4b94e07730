"""The URLs of databases in a vault's settings, and what an error of a database means.

Other users may read the settings, so URLs hold no password. A ledger and a store have their own words for each meaning.
"""

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


_MEANINGS = {
    # SQLSTATE of PostgreSQL
    "08": "unreached",
    "57": "unreached",  # the server stops or starts
    "25P03": "unreached",  # this process was suspended during a transaction
    "28": "refused",
    "3D000": "refused",
    "3F000": "missing",
    "42P01": "missing",
    "25006": "unwritable",
    "42501": "unwritable",
    "42P06": "exists",
    "53100": "full",
    "53": "crowded",
    "55P03": "busy",
    "40": "busy",
    "58": "disk",
    "23505": "twice",
    "XX": "damaged",
    "23": "damaged",
    "42": "damaged",  # the statements are fixed: if one fails, a table is damaged
    # error names of SQLite
    "SQLITE_READONLY": "unwritable",
    "SQLITE_PERM": "unwritable",
    "SQLITE_CANTOPEN": "unopened",
    "SQLITE_FULL": "full",
    "SQLITE_BUSY": "busy",
    "SQLITE_IOERR_WRITE": "unwritten",
    "SQLITE_IOERR": "disk",
    "SQLITE_CORRUPT": "damaged",
    "SQLITE_NOTADB": "damaged",
    "SQLITE_CONSTRAINT": "twice",
    "SQLITE_ERROR": "damaged",
}
_UNSAID = ("OperationalError", "ConnectionTimeout", "InterfaceError")


def meaning_of(error: BaseException) -> str:
    """Return what an error of psycopg, sqlite3 or SQLAlchemy means, as a word of `_MEANINGS`; "" if it is unknown."""
    if type(error).__name__ in ("NoResultFound", "MultipleResultsFound", "UnicodeDecodeError"):
        return "damaged"  # a required row is missing, occurs twice, or cannot be read
    cause = getattr(error, "orig", None) or error
    name = getattr(cause, "sqlstate", None) or getattr(cause, "sqlite_errorname", None)
    if name is None:
        is_link = type(cause).__module__.startswith("psycopg") and type(cause).__name__ in _UNSAID
        return ("refused" if is_refusal(str(cause)) else "unreached") if is_link else ""
    return next((meaning for start, meaning in _MEANINGS.items() if str(name).startswith(start)), "")
