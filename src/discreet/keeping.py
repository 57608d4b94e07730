"""Where a vault keeps its ledger: a file beside its settings, or a PostgreSQL database."""

import os
import tempfile
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from discreet.errors import StoreError, UnknownName, UsageError
from discreet.generation.loading import PACKAGED
from discreet.ledger.sql import SqlLedger
from discreet.ledger.sqlite import SqliteLedger
from discreet.privacy.accounting import Budget
from discreet.retrieval.embedding import EMBEDDERS
from discreet.settings import Settings, write_settings

_FILE = "ledger.sqlite"


def check_spelling(kind: str, name: str, known: Iterable[str]) -> None:
    """Nothing, unless the name of a model is nearly, but not quite, one that is packaged, or a path to nothing.

    Any other is taken as it is: whether a hub has it is not looked at before it is used.

    Raises:
        UnknownName: it looks misspelt.
    """
    known, there = list(known), name in known or _is_there(name)
    a_path = name.startswith(("/", "./", "../", "~"))
    if not there and (a_path or ("/" not in name and get_close_matches(name.lower(), known, 1, cutoff=0.6))):
        raise UnknownName(f"{kind} (nor a folder)" if a_path else kind, name, known)


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long for a path, or no path at all
        return False


def make_folder(path: Path, settings: Settings, failure_share: float) -> None:
    """A vault's folder, with an empty store and a new ledger.

    Raises:
        UsageError: delta is no probability, something is already at `path`, or a model's name is misspelt.
    """
    if not settings.unit_field.strip():
        raise UsageError("The field that names the individual needs a name, such as 'patient'.")
    check_spelling("language model", settings.model, [PACKAGED])
    check_spelling("embedder", settings.embedder, EMBEDDERS)
    if not 0 < settings.delta < 1:
        raise UsageError(f"Delta is a probability between 0 and 1, not {settings.delta}. Try 1e-6.")
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UsageError(f"There is already something at {path}. Choose a new folder for the vault.")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Made beside its place and renamed, so that a vault is there as a whole or not at all.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".vault-") as made:
            folder = Path(made) / "vault"
            folder.mkdir(mode=0o700)
            (folder / "store").mkdir()
            settings = write_settings(folder, settings)
            grant = Budget(settings.epsilon, settings.delta, failure_share * settings.delta)
            create_ledger(folder, settings, grant)
            os.replace(folder, path)
    except OSError as error:
        raise StoreError(f"The vault could not be made at {path}: {error.strerror}.") from error


def create_ledger(folder: Path, settings: Settings, budget: Budget) -> SqlLedger:
    """A new ledger, with the grant.

    Raises:
        UsageError: the address of a database is none, or holds a password, which would lie in the vault for all to
            read.
    """
    if not settings.ledger:
        return SqliteLedger.create(folder / _FILE, budget, log_questions=settings.log_questions)
    try:
        address = urlsplit(settings.ledger)
        password = address.password or {"password", "sslpassword"} & parse_qs(address.query).keys()
    except ValueError:
        raise UsageError("The ledger's address is none. Expected: postgresql://user@host/database.") from None
    if password:
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
