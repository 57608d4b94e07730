"""Where a vault keeps its ledger: a file beside its settings, or a PostgreSQL database."""

from pathlib import Path
from urllib.parse import urlsplit

from discreet.errors import UsageError
from discreet.ledger.sql import SqlLedger
from discreet.ledger.sqlite import SqliteLedger
from discreet.privacy.accounting import Budget
from discreet.settings import Settings

_FILE = "ledger.sqlite"


def create_ledger(folder: Path, settings: Settings, budget: Budget) -> SqlLedger:
    """A new ledger, with the grant.

    Raises:
        UsageError: the address of a database is none, or holds a password, which would lie in the vault for all to
            read.
    """
    if not settings.ledger:
        return SqliteLedger.create(folder / _FILE, budget, log_questions=settings.log_questions)
    if urlsplit(settings.ledger).password:
        raise UsageError(
            "The ledger's address holds a password, and would be kept in the vault. Leave it out; put it into "
            "PGPASSWORD or a .pgpass file."
        )
    from discreet.ledger.postgres import PostgresLedger

    return PostgresLedger.create(settings.ledger, settings.ledger_name, budget, log_questions=settings.log_questions)


def open_ledger(folder: Path, settings: Settings) -> SqlLedger:
    """The vault's ledger, after checking that it is sound."""
    if not settings.ledger:
        return SqliteLedger.open(folder / _FILE)
    from discreet.ledger.postgres import PostgresLedger

    return PostgresLedger.open(settings.ledger, settings.ledger_name)
