"""A copy of a vault's files that is of one moment, though the vault is in use.

The order matters. What was released (the history, the counter) is copied first, the store next, the ledger last. So
each answer in the copy was paid in the ledger of the copy, and no answer is there without its payment.

Left out are an unfinished synthesis, what the model read for one, and the datastores of baselines. A run that went on
in two places would draw twice for one payment; the rest is made again when it is needed.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from discreet.config import DEFAULT_STORE, VaultConfig
from discreet.errors import LedgerError, StoreError, UsageError
from discreet.ledger.database import connect, explained, missing
from discreet.operations.check_ledger import LEDGER
from discreet.operations.check_store import TEXTS, VECTORS
from discreet.retrieval.sqlite_errors import explained as store_explained

STORE, RUN = "store", Path("synthesis/run.jsonl")
_KEPT_OF_SYNTHESIS = Path("synthesis/done.json")
_LEFT_OUT = ("synthesis", "synthesis-simulated", "claims", STORE)
_TEMPORARY = (f"{LEDGER}*", "vault.json.new", "*.part", ".*", "adding.*", "flight.*")


def copy_files(folder: Path, target: Path, settings: VaultConfig) -> None:
    """Copy the vault at `folder` into the new folder `target`.

    Raises:
        UsageError: if the vault has a store of a plug-in, which can only be copied by its own tools.
        StoreError, LedgerError: something is missing, cannot be read, or finds no room.
    """
    if settings.store != DEFAULT_STORE:
        raise UsageError(
            f"The vault has the store '{settings.store}'; only vaults with the store '{DEFAULT_STORE}' can be copied. "
            "Back up the folder of the vault and its store with their own tools while no process uses the vault."
        )
    with store_explained():
        target.mkdir(mode=0o700)
        for path in plain_files(folder):
            with suppress(FileNotFoundError):  # removed meanwhile, as a public corpus may be
                _copy(folder / path, target / path)
        _copy_store(folder / STORE, target / STORE)
    if not settings.ledger:
        copy_ledger(folder / LEDGER, target / LEDGER)


def plain_files(folder: Path) -> Iterator[Path]:
    """What is copied as it is, relative to the vault's folder: all but the store, the ledger, and what is left out."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        left_out = inside.parts[0] in _LEFT_OUT and inside != _KEPT_OF_SYNTHESIS
        if path.is_symlink() or not path.is_file() or left_out or any(inside.match(name) for name in _TEMPORARY):
            continue
        yield inside


def copy_ledger(source: Path, target: Path) -> None:
    """A copy of a ledger as it is at one moment; processes go on paying meanwhile.

    Raises:
        LedgerError: it is missing, or cannot be read or written.
    """
    if not source.is_file():
        raise missing(source)
    try:
        with explained(source), closing(connect(source)) as read, closing(sqlite3.connect(target)) as written:
            read.backup(written)
        target.chmod(0o600)
    except OSError as error:
        raise LedgerError(f"The ledger cannot be copied: {error.strerror}.") from error


def _copy_store(source: Path, target: Path) -> None:
    """Texts and vectors of one moment: while a reader looks, no writer can commit."""
    if not source.is_dir():
        raise StoreError(f"{source} is gone, and the documents with it. There is nothing to back up.")
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
        if (source / VECTORS).exists():
            _copy(source / VECTORS, target / VECTORS)
        read.execute("rollback")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o600)
