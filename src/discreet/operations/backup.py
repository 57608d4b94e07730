"""Backups of a vault, also while it is in use."""

import gzip
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.config import read_config
from discreet.errors import StoreError, UsageError
from discreet.log.replay import Reached
from discreet.operations.check_ledger import LEDGER, checked_file, utc_now
from discreet.operations.copying import RUN, copy_files, copy_state
from discreet.operations.doctor import check_copy, refuse
from discreet.operations.manifest import SERVER, VAULT, Manifest, digests
from discreet.synthesis.readings import FOLDERS, Readings
from discreet.system.atomic_write import size_of
from discreet.system.output_path import check_output_path
from discreet.system.progress import Advance, stage

ARCHIVES = (".tar.gz", ".tgz")


@dataclass(frozen=True)
class BackedUp:
    """A backup that was made: for the custodian.

    Attributes:
        out: the archive or folder.
        manifest: the backup's manifest.
        size: the size in bytes.
        run_left_out: whether the backup omits an unfinished synthesis.
    """

    out: Path
    manifest: Manifest
    size: int
    run_left_out: bool


def back_up(vault: Path, out: Path, state: Path | None = None) -> BackedUp:
    """Copy the vault to `out`: an archive if the name ends in .tar.gz or .tgz, otherwise a new folder.

    The copy is checked before it gets its final name. An interrupted backup leaves nothing at `out`.

    Args:
        vault: the vault.
        out: a new file or folder.
        state: the state folder of its server; None if the backup has none.

    Raises:
        UsageError: if there is no vault, if `out` exists, or if `out` lies in the vault.
        StoreError, LedgerError: if a part of the vault is missing or damaged, or if the disk is full.
    """
    settings = read_config(vault)
    archive = out.name.endswith(ARCHIVES)
    check_new(out, vault, archive)
    with beside(out, ".backup-") as folder:
        copy, run_left_out = folder / VAULT, (vault / RUN).exists()
        with stage("Copying the files"):
            copy_files(vault, copy, settings)
        if read_config(vault) != settings:
            raise StoreError("The vault's settings changed during the backup. Run the backup again.")
        with stage("Checking the copy"):
            refuse(
                [one for one in check_copy(copy) if one.check != "counter"],
                "The vault cannot be backed up: it has problems.",
            )
        if state is not None:
            with stage("Copying the server's state"):
                copy_state(state, folder / SERVER)
        far = Reached(0, 0) if settings.ledger else checked_file(copy / LEDGER).reached
        kept = "postgresql" if settings.ledger else "file"
        at, files = utc_now().isoformat(timespec="seconds"), digests(copy)
        manifest = Manifest(
            at,
            __version__,
            str(vault.resolve()),
            kept,
            far.questions,
            far.payments,
            files,
            readings_left_out=any(Readings(vault / name).complete for name in FOLDERS),
            server=digests(folder / SERVER),
        )
        manifest.write(folder)
        sync(folder)
        if archive:
            _pack(folder, out)
        else:
            os.replace(folder, out)
    size = sum(path.stat().st_size for path in ([out] if archive else out.rglob("*")))
    return BackedUp(out, manifest, size, run_left_out)


def check_new(out: Path, vault: Path, archive: bool) -> None:
    """Check that a backup can be written at `out`, and may be.

    Raises:
        UsageError: if `out` exists, lies in the vault, or has no parent folder.
    """
    if archive:
        check_output_path(out, vault, force=False)
        return
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out} already exists. Give a new folder, or a new file that ends in .tar.gz.")
    if out.resolve().is_relative_to(vault.resolve()):
        raise UsageError(f"{out} lies in the vault's folder, which holds no output files. Choose another path.")
    if not out.parent.is_dir():
        raise UsageError(f"There is no folder {out.parent}. Make the folder, or choose another path.")


@contextmanager
def beside(target: Path, prefix: str) -> Iterator[Path]:
    """Make a temporary folder on the disk of `target` that only the owner may read. Remove it at the end.

    Raises:
        StoreError: if the folder cannot be made or written.
    """
    try:
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=prefix))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written: {error.strerror}. Free disk space, or choose another path."
        ) from error


def sync(folder: Path) -> None:
    """Flush all files of a folder and their names to the disk."""
    for path in (folder, *folder.rglob("*")):
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _pack(folder: Path, out: Path) -> None:
    part = folder / "archive.part"
    with (
        stage("Packing, in bytes", size_of(folder)) as done,
        os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
        gzip.GzipFile("", "wb", 6, file) as packed,
        tarfile.open(fileobj=_Counted(packed, done), mode="w") as archive,
    ):
        for name in sorted(path.name for path in folder.iterdir() if path != part):
            archive.add(folder / name, name, filter=_without_owner)
    sync(folder)
    os.replace(part, out)


class _Counted(io.RawIOBase):
    """A file that reports the number of bytes written to it."""

    def __init__(self, file: gzip.GzipFile, done: Advance) -> None:
        self._file, self._done = file, done

    def write(self, data: Any) -> int:
        """Write the data, and report its size. Return the size."""
        written = self._file.write(data)
        self._done(written)
        return written

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._file.tell()


def _without_owner(about: tarfile.TarInfo) -> tarfile.TarInfo:
    about.uid = about.gid = 0
    about.uname = about.gname = ""
    return about
