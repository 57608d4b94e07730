"""Moves of a vault to another folder. At no time do two copies answer."""

import errno
import fcntl
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from discreet.config import VaultConfig, read_config
from discreet.errors import DiscreetError, StoreError, UsageError
from discreet.operations.backup import beside, sync
from discreet.operations.check_ledger import LEDGER
from discreet.operations.manifest import digests, size_of
from discreet.retrieval.embedded_store import TEXTS
from discreet.system.progress import Advance, stage


@dataclass(frozen=True)
class Moved:
    """A vault that was moved.

    Attributes:
        vault: the new folder of the vault.
        copied: whether the vault was copied to another disk and deleted on the first.
        paths: the relative paths of models in the vault's settings; they may be invalid now.
    """

    vault: Path
    copied: bool
    paths: tuple[str, ...]


def move(vault: Path, target: Path) -> Moved:
    """Move the vault to the new folder `target`: by a rename, or by a checked copy to another disk.

    Raises:
        UsageError: if there is no vault, if `target` exists, or if a process visibly uses the vault.
        StoreError: if the vault could not be moved. It is then unchanged.
    """
    settings = read_config(vault)
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target} already exists. Choose a new folder for the vault.")
    if not target.parent.is_dir():
        raise UsageError(f"There is no folder {target.parent}. Make the folder, or choose another path.")
    if target.resolve().is_relative_to(vault.resolve()):
        raise UsageError(f"{target} lies in the vault's own folder. Choose another path.")
    if why := in_use(vault, settings):
        raise UsageError(f"The vault is in use: {why}. End that process, then move the vault.")
    try:
        os.rename(vault, target)
        copied = False
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise StoreError(
                f"The vault could not be moved: {error.strerror}. It is still at {vault}. Check the disk and the "
                "permissions."
            ) from error
        _across(vault, target)
        copied = True
    return Moved(target, copied, _relative(settings))


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
        except sqlite3.DatabaseError:  # a damaged file can be moved, too
            return True
    return True


def _across(vault: Path, target: Path) -> None:
    """Copy the vault to another disk, compare the copy, set the original aside, and then delete it."""
    with beside(target, ".move-") as made:
        copy = made / "vault"
        try:
            with stage("Copying to the other disk, in bytes", size_of(vault)) as done:
                shutil.copytree(vault, copy, symlinks=True, copy_function=partial(_copy, done))
        except shutil.Error as error:
            raise StoreError(
                f"Some files of the vault could not be copied. The vault is still at {vault}. Check the disk and the "
                "permissions."
            ) from error
        if digests(copy) != digests(vault):
            raise StoreError(
                f"The vault changed during the copy. It is still at {vault}. End all processes that use it, and try "
                "again."
            )
        sync(copy)
        aside = Path(tempfile.mkdtemp(dir=vault.parent, prefix=".move-")) / "vault"
        try:
            os.rename(vault, aside)
            os.replace(copy, target)
        except BaseException:  # also Ctrl-C: the vault must be at one of the two paths
            if aside.exists() and not target.exists():
                os.rename(aside, vault)
            raise
        finally:
            if not aside.exists():
                aside.parent.rmdir()
    try:
        shutil.rmtree(aside.parent)
    except OSError as error:
        raise DiscreetError(
            f"The vault is at {target} now. The old files at {aside.parent} could not be removed ({error.strerror}). "
            "Remove them: they contain documents."
        ) from error


def _copy(done: Advance, source: str, target: str) -> None:
    shutil.copy2(source, target, follow_symlinks=False)
    done(os.lstat(source).st_size)


def _relative(settings: VaultConfig) -> tuple[str, ...]:
    return tuple(name for name in (settings.model, settings.embedder) if name.startswith("."))
