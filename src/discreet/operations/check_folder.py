"""The vault's folder, looked over: its key, who may read it, the disk that it lies on, and what was left in it."""

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from discreet.config import VaultConfig, read_secret
from discreet.errors import StoreError
from discreet.operations.findings import Finding, problem, sound, warning

KEY, RESTORED = "units.key", "restored.json"
LEAST_ROOM = 2**30
"""Bytes that should be free: an export, or a rewrite of the store, needs room for a second copy."""
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs")
_LEFT_OVER = ("vault.json.new", "*.part", "*/*.part", ".public.*", ".adding.*")
_BESIDE = (".vault-*", ".backup-*", ".restore-*", ".move-*")


def check_key(folder: Path, settings: VaultConfig) -> Iterator[Finding]:
    """Look over the secret from which units get their names in the ledger."""
    try:
        read_secret(folder, settings)
    except StoreError as error:
        yield problem("key", str(error), "Restore units.key from a backup. There is no other way to get it back.")
        return
    yield sound("key", "units.key is the key that the vault was made with.")


def check_rights(folder: Path) -> Iterator[Finding]:
    """Look over who may read the vault, and whether the user may write it."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & stat.S_IRWXO:
        yield problem(
            "permissions", f"Every user of this machine may look into the vault ({mode:04o}).", f"chmod 700 {folder}"
        )
    elif mode & stat.S_IRWXG:
        yield warning(
            "permissions", f"The group of the folder may look into the vault ({mode:04o}).", f"chmod 700 {folder}"
        )
    else:
        yield sound("permissions", "The owner alone may look into the vault.")
    key = folder / KEY
    if key.exists() and (mode := stat.S_IMODE(key.stat().st_mode)) & (stat.S_IRWXG | stat.S_IRWXO):
        yield problem("permissions", f"Others than the owner may read units.key ({mode:04o}).", f"chmod 600 {key}")
    shut = [path.name for path in (folder, *folder.iterdir()) if not os.access(path, os.R_OK | os.W_OK)]
    if shut:
        yield warning(
            "permissions",
            f"You may not read and write: {', '.join(sorted(shut))}. Questions and additions will be refused.",
            f"Run the commands as the owner, or: chown -R USER {folder}",
        )


def check_disk(folder: Path, least: int = LEAST_ROOM) -> Iterator[Finding]:
    """Look over the room that is left; less than the store has, or than `least` bytes, is too little."""
    held = sum(path.stat().st_size for path in (folder / "store").glob("*"))
    free, wanted = shutil.disk_usage(folder).free, max(least, held)
    said = f"{free / 2**30:.1f} GiB are free on the vault's disk"
    if free < wanted:
        yield warning("disk", f"{said}; {wanted / 2**30:.1f} should be.", "Make room, or move the vault: discreet move")
    else:
        yield sound("disk", f"{said}.")


def check_network(folder: Path, mounts: str | None = None) -> Iterator[Finding]:
    """Look over the kind of file system; `mounts` as /proc/mounts has them."""
    if mounts is None:
        try:
            mounts = Path("/proc/mounts").read_text(errors="replace")
        except OSError:
            return
    here, kinds = str(folder.resolve()), dict[str, str]()
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) > 2:
            kinds[fields[1].replace("\\040", " ")] = fields[2]
    under = [place for place in kinds if here == place or here.startswith(place.rstrip("/") + "/")]
    kind = kinds[max(under, key=len)] if under else ""
    if kind in _NETWORK:
        yield warning(
            "file system",
            f"The vault lies on a network file system ({kind}). SQLite's locks are not safe there: two machines could "
            "spend the same budget.",
            "Keep the vault on a disk of the machine, or its ledger in PostgreSQL, and use it from one machine.",
        )
    else:
        yield sound("file system", f"The vault lies on a disk of this machine ({kind or 'of unknown kind'}).")


def check_left_over(folder: Path) -> Iterator[Finding]:
    """Look for files that a process left when it was ended."""
    inside = {path for pattern in _LEFT_OVER for path in folder.glob(pattern)}
    beside = {path for pattern in _BESIDE for path in folder.resolve().parent.glob(pattern) if path.is_dir()}
    marks = list(folder.glob("adding.*"))
    if inside or beside:
        named = ", ".join(sorted(str(path) for path in inside | beside))
        yield warning(
            "left over",
            f"A process that was ended left files behind, which may hold what the vault holds: {named}",
            "If no command of discreet runs at the moment, remove them.",
        )
    if marks:
        yield warning(
            "left over",
            "Documents are being added now, or a process that added some was ended.",
            "If none runs: the next command that opens the store forgets what was half done: discreet budget VAULT.",
        )
    if not (inside or beside or marks):
        yield sound("left over", "No temporary files were left.")


def check_origin(folder: Path) -> Iterator[Finding]:
    """Look whether the vault was restored from a backup: then another copy of it may be in use."""
    note = folder / RESTORED
    if not note.exists():
        return
    try:
        about = json.loads(note.read_text(encoding="utf-8"))
        when, made, forced = str(about["restored"]), str(about["backup_made"]), bool(about["forced"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        yield warning("origin", f"{RESTORED} is damaged: the vault was restored from a backup.", _ONE_COPY)
        return
    lost = " An older ledger was accepted then: what was spent after the backup is not in it." if forced else ""
    yield warning("origin", f"The vault was restored on {when} from a backup of {made}.{lost}", _ONE_COPY)


_ONE_COPY = (
    f"Make sure that no other copy of it answers: two copies spend the grant twice. Then remove {RESTORED}, or keep it "
    "as a record."
)
