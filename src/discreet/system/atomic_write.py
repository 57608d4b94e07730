"""Atomic writes: a file is replaced as a whole or not at all."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, content: str) -> None:
    """Write a file as a whole or not at all, and durably."""
    replace_files({path: content})


def replace_files(contents: Mapping[Path, str]) -> None:
    """Write files of one folder, each as a whole; where there is no room for all of them, none."""
    beside = {path: path.with_name(path.name + ".part") for path in contents}
    try:
        for path, content in contents.items():
            with beside[path].open("w", encoding="utf-8") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
    except OSError:
        for part in beside.values():
            with suppress(OSError):
                part.unlink()
        raise
    for path, part in beside.items():
        os.replace(part, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # their names, too
    finally:
        os.close(folder)
