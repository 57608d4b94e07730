"""Creation and opening of a vault's ledger: a file in its folder, or a schema of a PostgreSQL database."""

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.config import VaultConfig
from discreet.privacy.accounting import Budget
from discreet.system.database_url import check_no_password

if TYPE_CHECKING:  # the ledgers are imported late, because the import of their library takes 0.2 seconds
    from discreet.ledger.ledger import LogLedger

_FILE = "ledger.sqlite"
SNAPSHOT = "-snapshot"
"""The end of the name of a snapshot. It is a cache beside the ledger, and in no backup."""


def create_ledger(folder: Path, config: VaultConfig, budget: Budget) -> "LogLedger":
    """Create the ledger of a vault with its grant. Return the ledger.

    Raises:
        UsageError: if the URL is not that of a PostgreSQL database, or if it contains a password.
    """
    if not config.ledger:
        from discreet.ledger.sqlite import SqliteLedger

        return SqliteLedger.create(folder / _FILE, budget, log_questions=config.log_questions)
    check_no_password(config.ledger, "ledger")
    from discreet.ledger.postgres import PostgresLedger

    return PostgresLedger.create(config.ledger, config.ledger_name, budget, log_questions=config.log_questions)


def open_ledger(folder: Path, config: VaultConfig) -> "LogLedger":
    """Open the ledger of a vault, and check that it is sound and not older than its counter. Return the ledger.

    Raises:
        LedgerError: if the ledger is missing, corrupt, out of reach, or older than VAULT/counter.json.
    """
    from discreet.log.counter import COUNTER, Counter

    ledger = _open(folder, config)
    ledger.check_counter(Counter(folder / COUNTER))
    return ledger


def _open(folder: Path, config: VaultConfig) -> "LogLedger":
    if not config.ledger:
        from discreet.ledger.sqlite import SqliteLedger

        return SqliteLedger.open(folder / _FILE)
    from discreet.ledger.postgres import PostgresLedger

    return PostgresLedger.open(config.ledger, config.ledger_name, folder / f"{_FILE}{SNAPSHOT}")
