"""Which files there are: those that can be read, and those that cannot, each with the reason."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from discreet.errors import UsageError
from discreet.reading.loaders import find_loader, known_suffixes, loader_failures
from discreet.reading.records import BadRecord, FoundFile
from discreet.system.unicode import is_unicode

PASSED_OVER = (".DS_Store", "Thumbs.db", "desktop.ini", "._*", "~$*", ".~lock.*#", ".git", "__MACOSX")
"""What systems and office programs leave in folders, files and folders: passed over without a word."""
UNKNOWN = "of no known kind, not read"
_OUTSIDE = "a link to a file outside the folder, not followed: name that file by itself"


@dataclass(frozen=True)
class Found:
    """What was found.

    Attributes:
        files: what can be read, in the order of the paths, within a folder by name.
        unread: what is of no known kind, or cannot be looked into.
    """

    files: tuple[FoundFile, ...]
    unread: tuple[BadRecord, ...]


def find_files(paths: Sequence[Path]) -> Found:
    """Find the files at `paths`, and below those that are folders. A file that is found twice counts once.

    Raises:
        UsageError: there is nothing at a path; or nothing of a known kind at any; or two files would have one name.
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
            f"There is no file of a known kind at {some}. Known: {', '.join(known_suffixes())}, and folders of them."
            f"{unusable}"
        )
    return Found(tuple(files.values()), tuple(unread.values()))


def _is_folder(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise UsageError(f"There is no file or folder at {path}. Check the path.") from error
    except OSError as error:  # a name that is too long, a loop of links, a folder that may not be looked into
        raise UsageError(f"Nothing can be found at {path}: {error.strerror}. Check the path.") from error
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
        yield BadRecord(name if name != "." else folder.name, f"cannot be looked into ({error.strerror})")
    inside = folder.resolve()
    for path in sorted(found):
        source = path.relative_to(folder).as_posix()
        yield BadRecord(_printable(source), _OUTSIDE) if _leads_out(path, inside) else _named(path, source)


def _leads_out(path: Path, folder: Path) -> bool:
    """Whether a path is a link to a file outside a folder: a folder from others may not name what it does not hold."""
    try:
        return path.is_symlink() and path.is_file() and not path.resolve().is_relative_to(folder)
    except (OSError, RuntimeError):  # a loop
        return False


def _named(path: Path, source: str) -> FoundFile | BadRecord:
    where = _printable(source)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        reason = "a link that leads nowhere" if path.is_symlink() else f"cannot be looked into ({error.strerror})"
        return BadRecord(where, reason)
    if stat.S_ISDIR(mode):
        return BadRecord(where, "a link to a folder, not followed: name that folder by itself")
    if not stat.S_ISREG(mode):
        return BadRecord(where, "not a file, but a pipe, a socket or a device")
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
                f"{seen[source]} and {path} would both be called {source}. Name the folder that holds both."
            )
        seen[source] = path


def _is_passed_over(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in PASSED_OVER)


def _printable(name: str) -> str:
    return name if is_unicode(name) else ascii(name)
