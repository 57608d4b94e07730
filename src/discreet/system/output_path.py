"""Where files go that a command writes for its user: checked before anything is paid, or hours are spent."""

import os
from pathlib import Path

from discreet.errors import UsageError


def check_output_path(out: Path, vault: Path, *, force: bool) -> None:
    """Refuse a place where a file could not be written, or should not be.

    Args:
        out: where the file is to go.
        vault: the folder of the vault, in which nothing but the vault is written.
        force: whether a file that is there may be written over.

    Raises:
        UsageError: it says why, and what to do.
    """
    if not out.name or out.is_dir():
        raise UsageError(f"{out} is a folder. Name a file.")
    if out.exists() and not out.is_file():
        raise UsageError(f"{out} is no plain file. Name one; `cat` and a pipe bring it elsewhere.")
    if out.resolve().is_relative_to(vault.resolve()):
        raise UsageError(f"{out} lies in the vault, in which nothing is written. Choose another place.")
    if out.exists() and not force:
        raise UsageError(f"There is already something at {out}. Choose another file, or write over it: --force.")
    if not out.parent.is_dir():
        raise UsageError(f"There is no folder {out.parent}. Make it, or choose another place.")
    if not os.access(out.parent, os.W_OK):
        raise UsageError(f"You may not write into the folder {out.parent}. Choose another place.")


def write_private(out: Path, text: str) -> None:
    """Write a file that its owner alone may read."""
    out.unlink(missing_ok=True)  # so that its rights are ours
    with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
