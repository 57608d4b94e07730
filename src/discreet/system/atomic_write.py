"""Atomic writes of files."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


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
