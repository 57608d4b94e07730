"""The manifest of a backup: its time, its vault, and the digest of each file.

BACKUP/backup.json   the manifest
BACKUP/vault/        the vault's files; all lies in one archive if the backup is a .tar.gz
BACKUP/server/       the state folder of its server, if there was one
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from discreet.config import FORMAT
from discreet.errors import BadData
from discreet.system.atomic_write import size_of
from discreet.system.progress import Advance, stage

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
