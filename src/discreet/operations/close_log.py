"""The closing of a ledger's log: who took part in what is archived or destroyed, and all balances go on."""

import fcntl
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from discreet.config import VaultConfig, read_config
from discreet.errors import UsageError
from discreet.ledger.balances import BEGIN, RESERVE, Units, payers_of
from discreet.ledger.ledger import list_corpora, open_ledger, time_of
from discreet.log.chain import first, list_closed, read
from discreet.log.replay import LogReplay
from discreet.operations.check_ledger import LEDGER, reading
from discreet.store.embedded_store import TEXTS
from discreet.system.files import check_output_path
from discreet.vault.components import SYNTHESIS

_PATIENCE = 2.0
"""Seconds in which a server ends a connection of this process that was closed."""


@dataclass(frozen=True)
class ClosedLog:
    """What a log has that is lost with it.

    Attributes:
        since: the time of its first row, UTC, ISO 8601.
        rows: the number of its rows.
        questions: the number of questions in it, which no later report lists.
        corpora: the number of synthetic corpora in it.
        shares: the number of times that an individual took part in a question: private.
        open: the number of parts that are not settled. Who pays for them goes on to the new log: private.
        tables: the tables of the database with rows of logs that were closed before. They stay.
    """

    since: str
    rows: int
    questions: int
    corpora: int
    shares: int
    open: int
    tables: tuple[str, ...]


def look(vault: Path, keep: Path | None) -> ClosedLog:
    """Return what a log has that would be lost. Nothing changes.

    Args:
        vault: the folder of the vault.
        keep: the file that the old rows are to be in; None for none.

    Raises:
        UsageError: if there is no vault, if a process visibly uses it, if a corpus is unfinished, or if the file cannot
            be made.
        LedgerError: if the ledger is not sound.
    """
    settings = read_config(vault)
    if keep is not None:
        if keep.is_file():
            raise UsageError(f"{keep} already exists, and is not overwritten. Choose another path.")
        check_output_path(keep, vault, force=False)
    _check_unused(vault, settings)
    rows = questions = shares = 0
    with reading(vault, settings) as connection:
        state = LogReplay(Units).check(connection)
        for row in read(connection):
            rows, questions = rows + 1, questions + (row.kind == BEGIN)
            shares += len(payers_of(row.content)) if row.kind == RESERVE and row.content else 0
        corpora = len(list_corpora(read(connection), state.grant.budget))
        tables = tuple(list_closed(connection))
        return ClosedLog(time_of(first(connection)), rows, questions, corpora, shares, len(state.open), tables)


def close_log(vault: Path, keep: Path | None) -> bool:
    """Close the log of a vault. The old rows are in the new file `keep`, or gone for good if it is None.

    Return whether they are gone from the ledger's own files, too.

    Raises:
        UsageError: as `look`.
        LedgerError: if the ledger is not sound, or is older than its counter; or if it or the file cannot be written.
    """
    settings = read_config(vault)
    _check_unused(vault, settings)
    return open_ledger(vault, settings).close_log(keep=False if keep is None else keep)


def _check_unused(vault: Path, settings: VaultConfig) -> None:
    why = in_use(vault, settings) or ("its ledger is open" if settings.ledger and _has_others(settings) else "")
    if why:
        raise UsageError(f"The vault is in use: {why}. End that process, then close the log. Nothing was changed.")
    if (vault / SYNTHESIS / "run.jsonl").exists():
        raise UsageError(
            "A synthetic corpus of the vault is unfinished, and could not be finished without the log. Finish it: "
            f"discreet synthesize. Or give it up: remove {vault / SYNTHESIS / 'run.jsonl'}. Nothing was changed."
        )


def _has_others(settings: VaultConfig) -> bool:
    """Return whether another process, of any machine, has a ledger in PostgreSQL open, as far as the role may see."""
    from discreet.log.postgres import PostgresSchema

    schema, end = PostgresSchema(settings.ledger, settings.ledger_name), time.monotonic() + _PATIENCE
    try:
        while schema.others():
            if time.monotonic() > end:
                return True
            time.sleep(0.1)
        return False
    finally:
        schema.engine.dispose()


def in_use(folder: Path, settings: VaultConfig) -> str:
    """Return the visible use of the vault by a process; "" if there is none.

    Uses of a ledger in PostgreSQL are not visible: other machines may ask.
    """
    if any(_is_held(mark) for mark in folder.glob("adding.*")):
        return "documents are being added"
    if _is_held(folder / "synthesis" / "lock"):
        return "a synthetic corpus is being made"
    for file, what in ((folder / LEDGER, "its ledger is open"), (folder / "store" / TEXTS, "its store is open")):
        if file.is_file() and not _is_alone(file):
            return what
    return ""


def _is_held(lock: Path) -> bool:
    try:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _is_alone(file: Path) -> bool:
    """Return whether no other process has a SQLite file open. Only then can this process lock it exclusively."""
    address = f"{file.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)) as database:
        try:
            database.execute("pragma locking_mode = exclusive")
            database.execute("begin exclusive")
            database.execute("rollback")
        except sqlite3.OperationalError as error:
            return getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY
        except sqlite3.DatabaseError:  # a damaged file has no other reader that counts
            return True
    return True
