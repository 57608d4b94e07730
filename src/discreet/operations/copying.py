"""Consistent copies of a vault's files, also while the vault is in use.

The order matters. Releases (the history, the counter) are copied first, then the store, and the ledger last. So the
ledger in the copy has the payment of each answer in the copy.

The copy omits an unfinished synthesis, the model's extractions for it, what the model read, and the datastores of
baselines. A run that continued in two vaults would draw twice for one payment. Readings are copied at another moment
than the store, so they could hold words of an individual whom an erasure in between removed. The other files are made
again when they are needed.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from discreet.config import DEFAULT_STORE, VaultConfig
from discreet.errors import LedgerError, StoreError, UsageError
from discreet.log.chain import missing
from discreet.log.sqlite import connect, explained
from discreet.operations.check_ledger import LEDGER
from discreet.store.embedded_store import TEXTS, VECTORS
from discreet.store.embedded_store import explained as store_explained
from discreet.store.vectors import HEADS
from discreet.system.databases import ANSWERING, is_postgres

STORE, RUN = "store", Path("synthesis/run.jsonl")
_KEPT_OF_SYNTHESIS = Path("synthesis/done.json")
_LEFT_OUT = ("synthesis", "synthesis-simulated", "claims", "readings", "codes", STORE)
_TEMPORARY = (f"{LEDGER}*", "*.part", ".*", "adding.*", "flight.*", ANSWERING)


def copy_files(folder: Path, target: Path, settings: VaultConfig) -> None:
    """Copy the vault at `folder` into the new folder `target`. Documents and a ledger in PostgreSQL stay there.

    Raises:
        UsageError: if the vault has a store of a plug-in, which only its own tools can copy.
        StoreError, LedgerError: if a file is missing or cannot be read, or if the disk is full.
    """
    elsewhere = is_postgres(settings.store)
    if settings.store != DEFAULT_STORE and not elsewhere:
        name = settings.store.partition(":")[0]
        raise UsageError(
            f"The vault has the store '{name}'. Only vaults with the store '{DEFAULT_STORE}' can be copied. Stop "
            "all processes that use the vault, then back up its folder and its store with their own tools."
        )
    with store_explained():
        target.mkdir(mode=0o700)
        for path in plain_files(folder):
            with suppress(FileNotFoundError):  # another process removed the file, such as a public corpus
                _copy(folder / path, target / path)
        if elsewhere:  # documents in PostgreSQL stay in their database, as a ledger does
            (target / STORE).mkdir(mode=0o700)
        else:
            _copy_store(folder / STORE, target / STORE)
    if not settings.ledger:
        copy_ledger(folder / LEDGER, target / LEDGER)


def plain_files(folder: Path) -> Iterator[Path]:
    """Yield the files to copy unchanged, relative to the vault's folder: all but store, ledger and omitted files."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        left_out = inside.parts[0] in _LEFT_OUT and inside != _KEPT_OF_SYNTHESIS
        if path.is_symlink() or not path.is_file() or left_out or any(inside.match(name) for name in _TEMPORARY):
            continue
        yield inside


def copy_ledger(source: Path, target: Path) -> None:
    """Copy a consistent state of a ledger while other processes may pay.

    Raises:
        LedgerError: if the ledger is missing, or cannot be read or written.
    """
    if not source.is_file():
        raise missing(source)
    try:
        with explained(source), closing(connect(source)) as read, closing(sqlite3.connect(target)) as written:
            read.backup(written)
        target.chmod(0o600)
    except OSError as error:
        raise LedgerError(f"The ledger cannot be copied: {error.strerror}. Check the disk and permissions.") from error


_STATE_LEFT_OUT = ("run", "uploads")
_STATE_TEMPORARY = ("*-snapshot", "*-wal", "*-shm", ".*")
_SQLITE = b"SQLite format 3\0"


def copy_state(state: Path, target: Path) -> None:
    """Copy a server's state folder, also while it runs: keys, accounts, audit log, released corpora.

    Copied after the vault, so that no key's meter is behind the ledger; the counter before the accounts, so that these
    lack nothing that it knows. What the custodian uploaded and did not add is left out, with sockets and caches.

    Raises:
        LedgerError: if a database cannot be read.
        StoreError: if the disk is full.
    """
    target.mkdir(mode=0o700)
    for path in sorted(state.rglob("*")):
        inside = path.relative_to(state)
        left_out = any(part in _STATE_LEFT_OUT for part in inside.parts)
        if path.is_symlink() or not path.is_file() or left_out or any(path.match(name) for name in _STATE_TEMPORARY):
            continue
        with suppress(FileNotFoundError), path.open("rb") as file:
            is_database = file.read(len(_SQLITE)) == _SQLITE
            (target / inside).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            (copy_ledger if is_database else _copy)(path, target / inside)


def _copy_store(source: Path, target: Path) -> None:
    """Copy a consistent state of texts and vectors. No writer can commit while the reader holds its lock."""
    if not source.is_dir():
        raise StoreError(f"The folder {source} with the documents is missing. Restore the vault from a backup.")
    target.mkdir(mode=0o700)
    if not (source / TEXTS).exists():
        return
    address = f"{(source / TEXTS).absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=30, isolation_level=None)) as read:
        read.execute("begin")
        read.execute("select 1 from sqlite_master").fetchone()
        with closing(sqlite3.connect(target / TEXTS)) as written:
            read.backup(written)
        (target / TEXTS).chmod(0o600)
        for path in (Path(VECTORS), Path(VECTORS).with_suffix(HEADS)):
            if (source / path).exists():
                _copy(source / path, target / path)
        read.execute("rollback")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o600)
