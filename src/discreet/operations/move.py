"""Bring a vault to another place: at no moment are there two that answer."""

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
from discreet.operations.check_store import TEXTS
from discreet.operations.manifest import digests, size_of
from discreet.system.progress import Advance, stage


@dataclass(frozen=True)
class Moved:
    """What was moved.

    Attributes:
        place: where the vault is now.
        copied: whether it was copied to another disk, and removed from the first.
        paths: models that the vault names by a relative path, which may lead nowhere from now on.
    """

    place: Path
    copied: bool
    paths: tuple[str, ...]


def move(vault: Path, place: Path) -> Moved:
    """Bring the vault to the new folder `place`: by a new name, or by a checked copy where that is another disk.

    Raises:
        UsageError: there is no vault, something is at `place`, or a process uses the vault, as far as can be seen.
        StoreError: it could not be moved; it is where it was.
    """
    settings = read_config(vault)
    if place.exists() or place.is_symlink():
        raise UsageError(f"There is already something at {place}. Choose a new folder for the vault.")
    if not place.parent.is_dir():
        raise UsageError(f"There is no folder {place.parent}. Make it, or choose another place.")
    if place.resolve().is_relative_to(vault.resolve()):
        raise UsageError(f"{place} lies in the vault. Choose another place.")
    if why := in_use(vault, settings):
        raise UsageError(f"The vault is in use: {why}. End that process first, then move the vault.")
    try:
        os.rename(vault, place)
        copied = False
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise StoreError(f"The vault could not be moved: {error.strerror}. It is where it was.") from error
        _across(vault, place)
        copied = True
    return Moved(place, copied, _relative(settings))


def in_use(folder: Path, settings: VaultConfig) -> str:
    """What a process does with the vault now, as far as can be seen; empty if nothing.

    A ledger in PostgreSQL does not tell: other machines may ask.
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
    """Whether this process alone has a SQLite file open: only then can it lock all others out."""
    address = f"{file.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)) as database:
        try:
            database.execute("pragma locking_mode = exclusive")
            database.execute("begin exclusive")
            database.execute("rollback")
        except sqlite3.OperationalError as error:
            return getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY
        except sqlite3.DatabaseError:  # damaged: it can be moved all the same
            return True
    return True


def _across(vault: Path, place: Path) -> None:
    """Copy to another disk, compare, and only then take the first away. The old one is set aside before."""
    with beside(place, ".move-") as made:
        copy = made / "vault"
        try:
            with stage("Copying to the other disk, in bytes", size_of(vault)) as done:
                shutil.copytree(vault, copy, symlinks=True, copy_function=partial(_copy, done))
        except shutil.Error as error:
            raise StoreError("Some files of the vault could not be copied. It is where it was.") from error
        if digests(copy) != digests(vault):
            raise StoreError("The vault was changed while it was copied. It is where it was; try again.")
        sync(copy)
        aside = Path(tempfile.mkdtemp(dir=vault.parent, prefix=".move-")) / "vault"
        try:
            os.rename(vault, aside)
            os.replace(copy, place)
        except BaseException:  # Ctrl-C, too: the vault is at one of the two places
            if aside.exists() and not place.exists():
                os.rename(aside, vault)
            raise
        finally:
            if not aside.exists():
                aside.parent.rmdir()
    try:
        shutil.rmtree(aside.parent)
    except OSError as error:
        raise DiscreetError(
            f"The vault is at {place} now. What is left of the old one could not be removed: {aside.parent} "
            f"({error.strerror}). Remove it: it holds documents."
        ) from error


def _copy(done: Advance, source: str, target: str) -> None:
    shutil.copy2(source, target, follow_symlinks=False)
    done(os.lstat(source).st_size)


def _relative(settings: VaultConfig) -> tuple[str, ...]:
    return tuple(name for name in (settings.model, settings.embedder) if name.startswith("."))
