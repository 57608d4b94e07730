"""Restoring of a vault from a backup. A backup with an outdated ledger is refused."""

import json
import os
import shutil
import tarfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.config import read_config
from discreet.errors import BadData, DiscreetError, LedgerError, UsageError
from discreet.log.replay import COUNTER, Counter, Reached
from discreet.operations.backup import beside, sync
from discreet.operations.check_folder import RESTORED
from discreet.operations.check_ledger import LEDGER, checked_file, look_at, utc_now
from discreet.operations.doctor import check_copy, refuse
from discreet.operations.manifest import MANIFEST, SERVER, VAULT, Manifest, read_manifest
from discreet.operations.releases import erasures
from discreet.system.progress import stage


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
