"""Create and open the ledger of a vault: a file in its folder, or a schema of a PostgreSQL database."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from discreet.config import VaultConfig
from discreet.errors import UsageError
from discreet.ledger.protocol import VaultLedger
from discreet.privacy.accounting import Budget

# The ledgers are imported where they are used: their library takes a fifth of a second to import.

_FILE = "ledger.sqlite"


def create_ledger(folder: Path, config: VaultConfig, budget: Budget) -> VaultLedger:
    """Create the ledger of a vault, and grant its budget.

    Raises:
        UsageError: if the URL is not one of a PostgreSQL database, or if it holds a password.
    """
    if not config.ledger:
        from discreet.ledger.sqlite import SqliteLedger

        return SqliteLedger.create(folder / _FILE, budget, log_questions=config.log_questions)
    try:
        address = urlsplit(config.ledger)
        password = address.password or {"password", "sslpassword"} & parse_qs(address.query).keys()
    except ValueError:
        raise UsageError("Invalid ledger URL. Expected: postgresql://user@host/database.") from None
    if password:  # the URL is written into the vault, where others may read it
        raise UsageError(
            "The ledger URL holds a password, and the vault would store it. Remove it from the URL; put it into "
            "PGPASSWORD or a .pgpass file."
        )
    from discreet.ledger.postgres import PostgresLedger

    return PostgresLedger.create(config.ledger, config.ledger_name, budget, log_questions=config.log_questions)


def open_ledger(folder: Path, config: VaultConfig) -> VaultLedger:
    """Open the ledger of a vault. Check that it is sound, and that it is not older than its counter.

    Raises:
        LedgerError: if it is missing, corrupt, unreachable, or older than VAULT/counter.json.
    """
    from discreet.ledger.counter import COUNTER, Counter

    ledger, counter = _open(folder, config), Counter(folder / COUNTER)
    counter.check(ledger.reached)
    ledger.counter = counter
    return ledger


def _open(folder: Path, config: VaultConfig) -> VaultLedger:
    if not config.ledger:
        from discreet.ledger.sqlite import SqliteLedger

        return SqliteLedger.open(folder / _FILE)
    from discreet.ledger.postgres import PostgresLedger

    return PostgresLedger.open(config.ledger, config.ledger_name)
