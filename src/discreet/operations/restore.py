"""Make a vault of a backup, and refuse one whose ledger is older than what is known to have been asked."""

import json
import os
import shutil
import tarfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.config import read_config
from discreet.errors import BadData, DiscreetError, LedgerError, UsageError
from discreet.ledger.counter import COUNTER, Counter, Reached
from discreet.operations.backup import beside, sync
from discreet.operations.check_folder import KEY, RESTORED
from discreet.operations.check_ledger import LEDGER, checked_file, look_at, utc_now
from discreet.operations.doctor import check_copy, refuse
from discreet.operations.manifest import MANIFEST, VAULT, Manifest, read_manifest
from discreet.operations.releases import erasures
from discreet.system.progress import stage


@dataclass(frozen=True)
class Restored:
    """What was restored: for the custodian.

    Attributes:
        place: the new vault.
        manifest: what the backup says of itself.
        lost: questions and payments that the newest ledger is known to have had, and this one has not; None if none.
        other: where the vault that was backed up still lies; None if it is not there.
        erased: how many individuals were erased there after the backup, and are back; None if that cannot be told.
    """

    place: Path
    manifest: Manifest
    lost: Reached | None
    other: Path | None
    erased: int | None


def restore(backup: Path, place: Path, *, expect: int | None = None, force: bool = False) -> Restored:
    """Make a vault at `place` of a backup.

    Args:
        backup: what `back_up` wrote.
        place: a new folder.
        expect: how many questions the vault had at least, as its newest receipt or report says.
        force: whether a ledger may be taken that is older than the vault was: what was spent since is forgotten.

    Raises:
        UsageError: something is at `place`.
        BadData: the backup is none, or damaged.
        LedgerError: its ledger is older than the vault was.
        StoreError: there is no room, or a part of the backup is not sound.
    """
    _check_free(place)
    with beside(place, ".restore-") as made:
        with stage("Unpacking the backup"):
            _unpack(backup, made)
        manifest, copy = read_manifest(made), made / VAULT
        settings = read_config(copy)
        with stage("Checking the ledger and the store"):
            refuse([one for one in check_copy(copy) if one.check != "counter"], "The backup cannot be restored.")
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
        os.replace(copy, place)
    return Restored(place, manifest, lost, other, erased)


def _check_free(place: Path) -> None:
    if place.is_symlink() or (place.exists() and (not place.is_dir() or any(place.iterdir()))):
        raise UsageError(f"There is already something at {place}. Choose a new folder for the vault.")
    if not place.parent.is_dir():
        raise UsageError(f"There is no folder {place.parent}. Make it, or choose another place.")


def _unpack(backup: Path, made: Path) -> None:
    """Bring the files of a backup into `made`: plain files and folders, and nothing outside."""
    try:
        if backup.is_dir():
            shutil.copytree(backup / VAULT, made / VAULT, symlinks=True)
            shutil.copyfile(backup / MANIFEST, made / MANIFEST)
            return
        if not backup.exists():
            raise UsageError(f"There is no backup at {backup}. Check the path.")
        with tarfile.open(backup, "r:*") as archive:
            for member in archive:
                _extract(archive, member, made)
    except (tarfile.TarError, EOFError, FileNotFoundError, shutil.Error, ValueError) as error:
        raise BadData(f"{backup} is no backup, or a damaged one. Name what `discreet backup` wrote.") from error
    except OSError as error:
        if error.errno is None:  # of gzip: no file of that kind, or a wrong sum
            raise BadData(f"{backup} is no backup, or a damaged one. Take another backup.") from error
        raise
    except Exception as error:
        if type(error).__module__ != "zlib":
            raise
        raise BadData(f"{backup} is a damaged backup. Take another one.") from error


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, made: Path) -> None:
    """Bring one file or folder of an archive into `made`. The filters of `tarfile` are not in every Python 3.11.

    Raises:
        ValueError: it would lie outside, or is neither a file nor a folder.
    """
    place, content = made / member.name, archive.extractfile(member) if member.isfile() else None
    if not place.resolve().is_relative_to(made.resolve()) or not (content or member.isdir()):
        raise ValueError
    if content is None:
        place.mkdir(parents=True, exist_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with content, place.open("xb") as file:
        shutil.copyfileobj(content, file)


def _same(folder: Path, digest: str) -> bool:
    """Whether the vault that was backed up still lies where it was."""
    try:
        return bool(digest) and read_config(folder).secret_digest == digest
    except (DiscreetError, OSError):
        return False


def _known(copy: Path, other: Path | None, expect: int | None) -> list[Reached]:
    """How far the vault is known to have been: by the backup's counter, the vault itself, and the custodian."""
    known = [Counter(folder / COUNTER).read() for folder in (copy, other) if folder is not None]
    if other is not None:
        with suppress(DiscreetError):  # it may be damaged: that is why there is a backup
            known.append(look_at(other, read_config(other)).reached)
    if expect is not None:
        known.append(Reached(expect, 0))
    return [one for one in known if one is not None]


def _erased_since(copy: Path, other: Path) -> int | None:
    """How many individuals were erased from the other vault, and not from the copy."""
    with suppress(DiscreetError):
        then, now = erasures(copy), erasures(other)
        return None if now is None else len(set(now) - set(then or []))
    return None


def _missing(now: Reached, known: list[Reached]) -> Reached | None:
    questions = max([now.questions, *(one.questions for one in known)]) - now.questions
    payments = max([now.payments, *(one.payments for one in known)]) - now.payments
    return Reached(questions, payments) if questions or payments else None


def _older(now: Reached, lost: Reached, manifest: Manifest) -> LedgerError:
    return LedgerError(
        f"The ledger of this backup ({manifest.made}) is older than the newest question: it holds {now.questions} "
        f"questions and {now.payments} payments; {now.questions + lost.questions} and {now.payments + lost.payments} "
        "are known. What was spent since would be forgotten, and could be spent again. Restore the newest backup, or "
        "use the vault itself. If both are lost, and you accept that: --force."
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
    """Have the owner alone read the vault."""
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    folder.chmod(0o700)
    (folder / KEY).chmod(0o600)
