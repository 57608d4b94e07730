"""What a backup says of itself: when it was made, of what, and the digest of each file.

BACKUP/backup.json   the manifest
BACKUP/vault/        the vault's files; both lie in one archive if the backup is a .tar.gz
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from discreet.errors import BadData
from discreet.system.progress import Advance, stage

MANIFEST, VAULT = "backup.json", "vault"
_FORMAT = 1
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Manifest:
    """What a backup says of itself.

    Attributes:
        made: when, UTC, ISO 8601.
        discreet: the version that made it.
        vault: where the vault lay.
        ledger: "file" if the ledger is in the backup, "postgresql" if it stays in its database.
        questions, payments: how far the ledger was; zero where it is not in the backup.
        files: each file's SHA-256 by its name within the vault.
        format: of the backup.
    """

    made: str
    discreet: str
    vault: str
    ledger: str
    questions: int
    payments: int
    files: Mapping[str, str] = field(repr=False)
    format: int = _FORMAT

    def write(self, folder: Path) -> None:
        """Write it into the folder of a backup."""
        (folder / MANIFEST).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        (folder / MANIFEST).chmod(0o600)


def read_manifest(folder: Path) -> Manifest:
    """What the backup in `folder` says of itself, after comparing all digests.

    Raises:
        BadData: it is no backup, one of a later format, or damaged.
    """
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        form = content["format"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadData(
            f"This is no backup, or a damaged one: its {MANIFEST} cannot be read. Name what `discreet backup` wrote."
        ) from error
    if form != _FORMAT:
        raise BadData(f"The backup has format {form}; this program reads format {_FORMAT}. Update discreet.")
    try:
        found = Manifest(**content)
        wanted = dict(found.files)
        sound = all(isinstance(value, str) for value in (found.made, found.vault, found.ledger, *wanted.values()))
    except (TypeError, ValueError) as error:
        raise BadData(f"The backup's {MANIFEST} is damaged. Take another backup.") from error
    links = [path for path in (folder / VAULT, *(folder / VAULT).rglob("*")) if path.is_symlink()]
    if links:
        raise BadData(f"The backup holds a link, {links[0].name}, and a backup holds none. Take another backup.")
    there = digests(folder / VAULT)
    wrong = sorted(name for name in wanted if there.get(name, "") != wanted[name])
    if not sound or wrong or there.keys() != wanted.keys():
        which = f": {', '.join(wrong[:3])}" if wrong else ""
        raise BadData(f"The backup is damaged, or was changed{which}. Take another backup.")
    return found


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file by its name within `folder`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    found = {}
    with stage("Computing digests of the files, in bytes", size_of(folder)) as done:
        for path in files:
            found[path.relative_to(folder).as_posix()] = _digest_of(path, done)
    return found


def size_of(folder: Path) -> int:
    """How many bytes the files of a folder hold, as far as they are there."""
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size += path.stat().st_size if path.is_file() else 0
    return size


def _digest_of(path: Path, done: Advance) -> str:
    made = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                made.update(block)
                done(len(block))
    except OSError:
        return ""
    return made.hexdigest()
