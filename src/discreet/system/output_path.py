"""Checks of output paths. A command runs them before it charges a budget or computes for hours."""

import os
from pathlib import Path

from discreet.errors import UsageError


def check_output_path(out: Path, vault: Path, *, force: bool) -> None:
    """Check that a file can be written at a path, and may be.

    Args:
        out: the path of the file.
        vault: the folder of the vault; outputs may not lie in it.
        force: whether to overwrite an existing file.

    Raises:
        UsageError: if the path is a folder or a special file, lies in the vault, or cannot be written; if a file exists
            and `force` is false.
    """
    if not out.name or out.is_dir():
        raise UsageError(f"{out} is a folder. Give the path of a file.")
    if out.exists() and not out.is_file():
        raise UsageError(f"{out} is not a regular file. Give the path of a file.")
    if out.resolve().is_relative_to(vault.resolve()):
        raise UsageError(f"{out} lies in the vault's folder, which holds no output files. Choose another path.")
    if out.exists() and not force:
        raise UsageError(f"{out} already exists. Choose another path, or overwrite the file: --force.")
    if not out.parent.is_dir():
        raise UsageError(f"There is no folder {out.parent}. Make the folder, or choose another path.")
    if not os.access(out.parent, os.W_OK):
        raise UsageError(f"You have no permission to write to the folder {out.parent}. Choose another path.")


def write_private(out: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    out.unlink(missing_ok=True)  # an existing file would keep its permissions
    with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
