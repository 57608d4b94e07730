"""Files: atomic writes, checks of output paths before anything is paid, sizes, and untrusted JSON lines."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.errors import UsageError
from discreet.system.words import is_unicode

# --- atomic write -----------------------------------------------------------------------------------------------------


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file atomically and durably."""
    replace_files({path: content})


def replace_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write files of one folder, each atomically. Write none if the disk has no room for all of them."""
    beside = {path: path.with_name(path.name + ".part") for path in contents}
    try:
        for path, content in contents.items():
            with beside[path].open("wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
        for path, part in beside.items():
            os.replace(part, path)
    except OSError:
        for part in beside.values():
            with suppress(OSError):
                part.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # makes the new names durable
    finally:
        os.close(folder)


def size_of(folder: Path) -> int:
    """Return the size of a folder's files in bytes. Files that vanish meanwhile do not count."""
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size += path.stat().st_size if path.is_file() else 0
    return size


# --- output path ------------------------------------------------------------------------------------------------------


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


# --- jsonl ------------------------------------------------------------------------------------------------------------


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each line of a file that is not blank. See `lines_of`."""
    return lines_of(path.read_bytes())


def lines_of(content: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each line that is not blank.

    Raises:
        ValueError: if the content is not UTF-8, or a line is malformed, nested too deeply, or holds half a character.
    """
    for number, line in numbered(content):
        yield number, value_of(line)


def numbered(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank.

    Raises:
        UnicodeDecodeError: if the content is not UTF-8.
    """
    # Not `splitlines`: it also splits within a text, for example at U+2028.
    for number, line in enumerate(content.decode("utf-8-sig").split("\n"), 1):
        if line.strip():
            yield number, line


def value_of(line: str) -> Any:
    """Return the value of a line.

    Raises:
        ValueError: if the line is malformed, nested too deeply, or holds half a character.
    """
    try:
        value = json.loads(line)
        # JSON accepts half a character in the form \ud800. Files, models and terminals do not.
        if "\\u" in line and not is_unicode(json.dumps(value, ensure_ascii=False)):
            raise ValueError("half a character")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value
