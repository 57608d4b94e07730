"""Checks of a vault's folder: its key, permissions, disk, file system and leftover files."""

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from discreet.config import VaultConfig, read_config, read_secret
from discreet.errors import DiscreetError, StoreError
from discreet.operations.findings import Finding, problem, sound, warning
from discreet.system.atomic_write import size_of

KEY, RESTORED = "units.key", "restored.json"
LEAST_ROOM = 2**30
"""The free bytes that a vault needs: an export or a rewrite of the store makes a second copy."""
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs")
_LEFT_OVER = ("*.part", "*/*.part", ".adding.*")
_BESIDE = (".vault-*", ".backup-*", ".restore-*")


def check_key(folder: Path, settings: VaultConfig) -> Iterator[Finding]:
    """Check the secret key that names the units in the ledger."""
    try:
        read_secret(folder, settings)
    except StoreError as error:
        yield problem("key", str(error), "Restore units.key from a backup. It cannot be made again.")
        return
    yield sound("key", "units.key is the key of this vault.")


def check_rights(folder: Path) -> Iterator[Finding]:
    """Check that only the owner may read the vault, and that the user may write it."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & stat.S_IRWXO:
        yield problem(
            "permissions", f"Every user of this machine may read the vault ({mode:04o}).", f"chmod 700 {folder}"
        )
    elif mode & stat.S_IRWXG:
        yield warning("permissions", f"The group of the folder may read the vault ({mode:04o}).", f"chmod 700 {folder}")
    else:
        yield sound("permissions", "Only the owner may read the vault.")
    key = folder / KEY
    if key.exists() and (mode := stat.S_IMODE(key.stat().st_mode)) & (stat.S_IRWXG | stat.S_IRWXO):
        yield problem("permissions", f"Users other than the owner may read units.key ({mode:04o}).", f"chmod 600 {key}")
    shut = [path.name for path in (folder, *folder.iterdir()) if _is_shut(path)]
    if shut:
        yield warning(
            "permissions",
            f"You have no permission to read and write: {', '.join(sorted(shut))}. Questions and additions will fail.",
            f"Run the commands as the owner, or change the owner: chown -R USER {folder}",
        )


def _is_shut(path: Path) -> bool:
    """Return whether the user may not read and write a path. Other processes remove files of databases meanwhile."""
    return not os.access(path, os.R_OK | os.W_OK) and path.exists()


def check_disk(folder: Path, least: int = LEAST_ROOM) -> Iterator[Finding]:
    """Check the free space: it must be at least the store's size, and at least `least` bytes."""
    held = size_of(folder / "store")
    free, wanted = shutil.disk_usage(folder).free, max(least, held)
    said = f"{free / 2**30:.1f} GiB are free on the vault's disk"
    if free < wanted:
        yield warning("disk", f"{said}; {wanted / 2**30:.1f} GiB are needed.", "Free disk space.")
    else:
        yield sound("disk", f"{said}.")


def check_network(folder: Path, mounts: str | None = None) -> Iterator[Finding]:
    """Check that the vault does not lie on a network file system. `mounts` has the format of /proc/mounts."""
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
    under = [mount for mount in kinds if here == mount or here.startswith(mount.rstrip("/") + "/")]
    kind = kinds[max(under, key=len)] if under else ""
    if kind in _NETWORK:
        yield warning(
            "file system",
            f"The vault lies on a network file system ({kind}), where SQLite's locks are not safe. Two machines could "
            "spend the same budget.",
            "Move the vault to a local disk, or keep its ledger in PostgreSQL. Use the vault from one machine only.",
        )
    else:
        yield sound("file system", f"The vault lies on a local disk ({kind or 'unknown file system'}).")


def check_left_over(folder: Path) -> Iterator[Finding]:
    """Search for files that an interrupted process left."""
    inside = {path for pattern in _LEFT_OVER for path in folder.glob(pattern)}
    beside = {path for pattern in _BESIDE for path in folder.resolve().parent.glob(pattern) if path.is_dir()}
    marks = list(folder.glob("adding.*"))
    if inside or beside:
        named = ", ".join(sorted(str(path) for path in inside | beside))
        yield warning(
            "left over",
            f"An interrupted process left files, which may hold private content of the vault: {named}",
            "Remove the files if no command of discreet is running.",
        )
    if broken := sorted(path.suffix[1:] for path in folder.glob("unfinished.*")):
        yield warning(
            "left over",
            f"The `add` of batch {', '.join(broken)} runs now, or did not end: some of its documents are missing.",
            "If it does not run, run the same `add` again: it completes the batch.",
        )
    if marks:
        yield warning(
            "left over",
            "Documents are being added now, or an `add` was interrupted.",
            "If no `add` is running, open the store to discard the unfinished part: discreet budget VAULT.",
        )
    if not (inside or beside or marks or broken):
        yield sound("left over", "There are no leftover files.")


def check_origin(folder: Path) -> Iterator[Finding]:
    """Check whether the vault was restored from a backup, because another copy may then be in use."""
    note = folder / RESTORED
    if not note.exists():
        return
    remedy = f"{_SHARED if _shares_ledger(folder) else _ONE_COPY} {_RECORD}"
    try:
        about = json.loads(note.read_text(encoding="utf-8"))
        when, backup_time, forced = str(about["restored"]), str(about["backup_made"]), bool(about["forced"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        yield warning("origin", f"{RESTORED} is damaged: the vault was restored from a backup.", remedy)
        return
    lost = " An older ledger was accepted: it lacks all charges after the backup." if forced else ""
    yield warning("origin", f"The vault was restored on {when} from a backup of {backup_time}.{lost}", remedy)


def _shares_ledger(folder: Path) -> bool:
    """Return whether copies of the vault pay from one ledger, because it is in a database."""
    try:
        return bool(read_config(folder).ledger)
    except DiscreetError:
        return False


_ONE_COPY = "Check that no other copy of the vault answers: two copies spend the grant twice."
_SHARED = "If another copy answers, too: both pay from one ledger, and the same question is paid at both."
_RECORD = f"Then remove {RESTORED}, or keep it as a record."
