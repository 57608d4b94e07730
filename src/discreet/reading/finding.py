"""The search for files: those that can be read, and those that cannot, each with its reason."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from discreet.errors import UsageError
from discreet.reading.loaders import find_loader, known_suffixes, loader_failures
from discreet.reading.records import BadRecord, FoundFile
from discreet.system.words import is_unicode

PASSED_OVER = (".DS_Store", "Thumbs.db", "desktop.ini", "._*", "~$*", ".~lock.*#", ".git", "__MACOSX")
"""Files and folders of operating systems and office programs. They are skipped without a report."""
UNKNOWN = "unknown format, not read"
_OUTSIDE = "a link to a file outside of the folder, not followed: give the path of that file"


@dataclass(frozen=True)
class Found:
    """The result of a search for files.

    Attributes:
        files: the files that can be read, in the order of the given paths, and by name within a folder.
        unread: the files of unknown format, and those that cannot be opened.
    """

    files: tuple[FoundFile, ...]
    unread: tuple[BadRecord, ...]


def find_files(paths: Sequence[Path]) -> Found:
    """Return the files at `paths`, and those in folders. A file that is found twice counts once.

    Raises:
        UsageError: if a path does not exist, if no file has a known format, or if two files would get one name.
    """
    files: dict[str, FoundFile] = {}
    unread: dict[str, BadRecord] = {}
    for path in paths:
        for found in _below(path) if _is_folder(path) else iter([_named(path, path.name)]):
            if isinstance(found, BadRecord):
                unread.setdefault(f"{found.where} {found.reason}", found)
            else:
                files.setdefault(os.path.abspath(found.path), found)
    _check_names(files.values())
    if not files and all(bad.reason == UNKNOWN for bad in unread.values()):
        some = ", ".join(str(path) for path in paths[:3])
        unusable = "".join(f" {failure}" for failure in loader_failures())
        raise UsageError(
            f"There is no file of a known format at {some}. Known formats: {', '.join(known_suffixes())}.{unusable}"
        )
    return Found(tuple(files.values()), tuple(unread.values()))


def _is_folder(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise UsageError(f"There is no file or folder at {path}. Check the path.") from error
    except OSError as error:  # a name that is too long, a loop of links, a folder without permission
        raise UsageError(f"The path {path} cannot be opened: {error.strerror}. Check the path.") from error
    return stat.S_ISDIR(mode)


def _below(folder: Path) -> Iterator[FoundFile | BadRecord]:
    closed: list[OSError] = []
    found: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=closed.append):
        folders[:] = [name for name in folders if not _is_passed_over(name)]
        found += (Path(root, name) for name in folders if Path(root, name).is_symlink())
        found += (Path(root, name) for name in names if not _is_passed_over(name))
    for error in closed:
        name = _printable(Path(error.filename).relative_to(folder).as_posix())
        yield BadRecord(name if name != "." else folder.name, f"cannot be opened ({error.strerror})")
    inside = folder.resolve()
    for path in sorted(found):
        source = path.relative_to(folder).as_posix()
        yield BadRecord(_printable(source), _OUTSIDE) if _leads_out(path, inside) else _named(path, source)


def _leads_out(path: Path, folder: Path) -> bool:
    """Return whether a path links to a file outside of a folder. An untrusted folder may not name foreign files."""
    try:
        return path.is_symlink() and path.is_file() and not path.resolve().is_relative_to(folder)
    except (OSError, RuntimeError):  # a loop of links
        return False


def _named(path: Path, source: str) -> FoundFile | BadRecord:
    where = _printable(source)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        reason = "a broken link" if path.is_symlink() else f"cannot be opened ({error.strerror})"
        return BadRecord(where, reason)
    if stat.S_ISDIR(mode):
        return BadRecord(where, "a link to a folder, not followed: give the path of that folder")
    if not stat.S_ISREG(mode):
        return BadRecord(where, "not a regular file, but a pipe, a socket or a device")
    if find_loader(path) is None:
        return BadRecord(where, UNKNOWN)
    if not is_unicode(source):
        return BadRecord(where, "the name of the file is not UTF-8: rename it")
    return FoundFile(path, source)


def _check_names(files: Iterable[FoundFile]) -> None:
    seen: dict[str, Path] = {}
    for path, source in files:
        if source in seen:
            raise UsageError(
                f"{seen[source]} and {path} would both get the name {source}. Give a folder that contains both."
            )
        seen[source] = path


def _is_passed_over(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in PASSED_OVER)


def _printable(name: str) -> str:
    return name if is_unicode(name) else ascii(name)
