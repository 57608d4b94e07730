"""Backups of a vault, also while it is in use, and their restoring.

BACKUP/backup.json   the manifest: the time, the vault, and the digest of each file
BACKUP/vault/        the vault's files; all lies in one archive if the backup is a .tar.gz
BACKUP/server/       the state folder of its server, if there was one

A backup with an outdated ledger is not restored: it would give units back what they have paid.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.config import FORMAT, read_config
from discreet.errors import BadData, DiscreetError, LedgerError, StoreError, UsageError
from discreet.log.replay import COUNTER, Counter, Reached
from discreet.operations.check_ledger import LEDGER, checked_file, look_at, utc_now
from discreet.operations.checks import RESTORED
from discreet.operations.copying import RUN, copy_files, copy_state
from discreet.operations.doctor import check_copy, refuse
from discreet.operations.report import erasures
from discreet.synthesis.readings import FOLDERS, Readings
from discreet.system.files import check_output_path, size_of
from discreet.system.progress import Advance, stage

# --- manifest ---------------------------------------------------------------------------------------------------------


MANIFEST, VAULT, SERVER = "backup.json", "vault", "server"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Manifest:
    """The manifest of a backup.

    Attributes:
        made: the time of the backup, UTC, ISO 8601.
        discreet: the version of discreet that made the backup.
        vault: the path of the vault at that time.
        ledger: "file" if the ledger is in the backup, "postgresql" if it stays in its database.
        questions, payments: their number in the ledger; 0 if the ledger is not in the backup.
        files: the SHA-256 of each file by its name within the vault.
        format: the format of the vault.
        readings_left_out: whether the vault had been read (`discreet code`); the backup lacks what was read.
        server: the SHA-256 of each file of the server's state folder; none if the backup has no such folder.
    """

    made: str
    discreet: str
    vault: str
    ledger: str
    questions: int
    payments: int
    files: Mapping[str, str] = field(repr=False)
    format: int = FORMAT
    readings_left_out: bool = False
    server: Mapping[str, str] = field(default_factory=dict, repr=False)

    def write(self, folder: Path) -> None:
        """Write the manifest to the folder of a backup."""
        (folder / MANIFEST).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        (folder / MANIFEST).chmod(0o600)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of the backup in `folder` after a comparison of all digests.

    Raises:
        BadData: if the folder is not a backup, or if the backup has another format or is damaged.
    """
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        form = content["format"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadData(
            f"This is not a backup, or it is damaged: {MANIFEST} cannot be read. Give a backup of `discreet backup`."
        ) from error
    if form != FORMAT:
        raise BadData(
            f"The backup has format {form}; this version of discreet reads format {FORMAT} alone. Restore it with the "
            "version of discreet that made it: docs/reference.md names it."
        )
    try:
        manifest = Manifest(**content)
        wanted = dict(manifest.files) | {f"{SERVER}/{name}": one for name, one in manifest.server.items()}
        sound = all(
            isinstance(value, str) for value in (manifest.made, manifest.vault, manifest.ledger, *wanted.values())
        )
    except (TypeError, ValueError) as error:
        raise BadData(f"The backup's {MANIFEST} is damaged. Use another backup.") from error
    parts = [folder / VAULT, *([folder / SERVER] if manifest.server else [])]
    links = [path for part in parts for path in (part, *part.rglob("*")) if path.is_symlink()]
    if links:
        raise BadData(f"The backup has a symbolic link, {links[0].name}. Backups have none. Use another backup.")
    there = digests(folder / VAULT) | {f"{SERVER}/{name}": one for name, one in digests(folder / SERVER).items()}
    wrong = sorted(name for name in wanted if there.get(name, "") != wanted[name])
    if not sound or wrong or there.keys() != wanted.keys():
        which = f": {', '.join(wrong[:3])}" if wrong else ""
        raise BadData(f"The backup is damaged or was changed{which}. Use another backup.")
    return manifest


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file by its name within `folder`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    by_name = {}
    with stage("Computing digests of the files, in bytes", size_of(folder)) as done:
        for path in files:
            by_name[path.relative_to(folder).as_posix()] = _digest_of(path, done)
    return by_name


def _digest_of(path: Path, done: Advance) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                done(len(block))
    except OSError:
        return ""
    return digest.hexdigest()


# --- backup -----------------------------------------------------------------------------------------------------------


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


# --- restore ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Restored:
    """A restored vault: for the custodian.

    Attributes:
        vault: the folder of the new vault.
        manifest: the manifest of the backup.
        lost: the known questions and payments that this ledger lacks; None if it lacks none.
        other: the path of the original vault; None if it no longer exists.
        erased: the number of individuals that were erased in the original after the backup; None if unknown.
        server: the state folder of its server; None if the backup has none.
    """

    vault: Path
    manifest: Manifest
    lost: Reached | None
    other: Path | None
    erased: int | None
    server: Path | None = None


def restore(backup: Path, target: Path, *, expect: int | None = None, force: bool = False) -> Restored:
    """Make a vault at `target` from a backup.

    Args:
        backup: a backup of `back_up`.
        target: a new folder.
        expect: the least number of questions that a receipt or report of the vault shows.
        force: whether to accept an outdated ledger, which lacks later charges.

    Raises:
        UsageError: if `target` exists.
        BadData: if `backup` is not a backup, or is damaged.
        LedgerError: if its ledger is outdated.
        StoreError: if the disk is full, or if a part of the backup has problems.
    """
    _check_free(target)
    with beside(target, ".restore-") as folder:
        with stage("Unpacking the backup"):
            _unpack(backup, folder)
        manifest, copy, state = read_manifest(folder), folder / VAULT, None
        if manifest.server:
            _check_free(state := target.with_name(f"{target.name}.server"))
        settings = read_config(copy)
        with stage("Checking the ledger and the store"):
            refuse(
                [one for one in check_copy(copy) if one.check != "counter"],
                "The backup cannot be restored: it has problems.",
            )
        there = Path(manifest.vault)
        other = there if _same(there, settings.secret_digest) else None
        lost = None
        if not settings.ledger:
            now = checked_file(copy / LEDGER).reached
            lost = _missing(now, _known(copy, other, expect))
            if lost and not force:
                raise _older(now, lost, manifest)
            (copy / COUNTER).unlink(missing_ok=True)
            Counter(copy / COUNTER).note(now)
        erased = None if other is None else _erased_since(copy, other)
        _write_note(copy, manifest, lost)
        _own(copy)
        sync(copy)
        os.replace(copy, target)
        if state is not None:
            _own(folder / SERVER)
            sync(folder / SERVER)
            os.replace(folder / SERVER, state)
    return Restored(target, manifest, lost, other, erased, state)


def _check_free(target: Path) -> None:
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise UsageError(f"{target} already exists. Choose a new folder for the vault.")
    if not target.parent.is_dir():
        raise UsageError(f"There is no folder {target.parent}. Make the folder, or choose another path.")


def _unpack(backup: Path, made: Path) -> None:
    """Unpack the files and folders of a backup into `made`, and nothing outside of it."""
    try:
        if backup.is_dir():
            for part in (VAULT, *([SERVER] if (backup / SERVER).exists() else [])):
                shutil.copytree(backup / part, made / part, symlinks=True)
            shutil.copyfile(backup / MANIFEST, made / MANIFEST)
            return
        if not backup.exists():
            raise UsageError(f"There is no backup at {backup}. Check the path.")
        with tarfile.open(backup, "r:*") as archive:
            for member in archive:
                _extract(archive, member, made)
    except (tarfile.TarError, EOFError, FileNotFoundError, shutil.Error, ValueError) as error:
        raise BadData(f"{backup} is not a backup, or is damaged. Give a backup of `discreet backup`.") from error
    except OSError as error:
        if error.errno is None:  # gzip reports another kind of file, or a wrong checksum
            raise BadData(f"{backup} is not a backup, or is damaged. Use another backup.") from error
        raise
    except Exception as error:
        if type(error).__module__ != "zlib":
            raise
        raise BadData(f"{backup} is a damaged backup. Use another backup.") from error


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, made: Path) -> None:
    """Unpack one file or folder of an archive into `made`. Not every Python 3.11 has the filters of `tarfile`.

    Raises:
        ValueError: if the path lies outside of `made`, or if the member is neither a file nor a folder.
    """
    path, content = made / member.name, archive.extractfile(member) if member.isfile() else None
    if not path.resolve().is_relative_to(made.resolve()) or not (content or member.isdir()):
        raise ValueError
    if content is None:
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with content, path.open("xb") as file:
        shutil.copyfileobj(content, file)


def _same(folder: Path, digest: str) -> bool:
    """Return whether the original vault still exists at its path."""
    try:
        return bool(digest) and read_config(folder).secret_digest == digest
    except (DiscreetError, OSError):
        return False


def _known(copy: Path, other: Path | None, expect: int | None) -> list[Reached]:
    """Return the known states of the ledger: by the backup's counter, the original vault, and the custodian."""
    counters = [Counter(folder / COUNTER).read() for folder in (copy, other) if folder is not None]
    if other is not None:
        with suppress(DiscreetError):  # the original may be damaged, which is a reason to restore
            counters.append(look_at(other, read_config(other)).reached)
    if expect is not None:
        counters.append(Reached(expect, 0))
    return [one for one in counters if one is not None]


def _erased_since(copy: Path, other: Path) -> int | None:
    """Return how many individuals were erased from the other vault but not from the copy; None if unknown."""
    with suppress(DiscreetError):
        return len(set(erasures(other)) - set(erasures(copy)))
    return None


def _missing(now: Reached, known: list[Reached]) -> Reached | None:
    questions = max([now.questions, *(one.questions for one in known)]) - now.questions
    payments = max([now.payments, *(one.payments for one in known)]) - now.payments
    return Reached(questions, payments) if questions or payments else None


def _older(now: Reached, lost: Reached, manifest: Manifest) -> LedgerError:
    return LedgerError(
        f"The ledger of this backup ({manifest.made}) is outdated. It has {now.questions} questions and "
        f"{now.payments} payments; {now.questions + lost.questions} and {now.payments + lost.payments} are known. "
        "Later charges would be lost, and the same budget could be spent again. Restore the newest backup, or use the "
        "original vault. If both are lost, accept the loss of charges: --force."
    )


def _write_note(copy: Path, manifest: Manifest, lost: Reached | None) -> None:
    note = {
        "restored": utc_now().isoformat(timespec="seconds"),
        "backup_made": manifest.made,
        "questions": manifest.questions,
        "forced": lost is not None,
        "questions_lost": lost.questions if lost else 0,
        "payments_lost": lost.payments if lost else 0,
    }
    (copy / RESTORED).write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")


def _own(folder: Path) -> None:
    """Permit only the owner to read the vault."""
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    folder.chmod(0o700)
