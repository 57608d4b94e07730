"""The search for files, and their records. What cannot be read is reported with its reason, and does not end it."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from discreet.errors import DiscreetError, UsageError
from discreet.reading.encodings import known_encoding
from discreet.reading.loaders import (
    BuiltInLoader,
    Loader,
    disguise,
    find_loader,
    known_suffixes,
    loader_failures,
)
from discreet.reading.records import BadRecord, FoundFile, ReadingOptions, Record
from discreet.reading.sandbox import Sandbox
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


def is_table(path: Path) -> bool:
    """Return whether the suffix of a file states that it contains records."""
    loader = find_loader(path)
    return loader is not None and loader.reads_tables


def read_records(
    files: Sequence[Path | FoundFile], options: ReadingOptions | None = None, sandbox: Sandbox | None = None
) -> Iterator[Record | BadRecord]:
    """Yield the records of files and folders, one at a time.

    Args:
        files: files from `find_files`, or paths of files and folders.
        options: the reading options.
        sandbox: the processes that read documents; None for new ones, which end after the last record.

    Yields:
        each record, and each part that cannot be read: a line, a file, or a file of an unknown format.

    Raises:
        UsageError: if a path does not exist, if no file has a known format, or if an encoding is unknown.
        MissingPart: if a format needs a part that is not installed.
        BadData: if a table has no text column, or has a needed column twice.
    """
    options = options or ReadingOptions()
    found = [file for file in files if isinstance(file, FoundFile)]
    paths = [file for file in files if not isinstance(file, FoundFile)]
    more = find_files(paths) if paths else Found((), ())
    found += more.files
    _check(found, options)
    return _read(found, more.unread, options, sandbox)


def _check(files: Sequence[FoundFile], options: ReadingOptions) -> None:
    if options.encoding:
        known_encoding(options.encoding)
    if options.delimiter is not None and len(options.delimiter) != 1:
        raise UsageError(f"--delimiter is '{options.delimiter}'. Give one character, such as ';' or a tab.")
    if options.header_row < 1:
        raise UsageError(f"--header-row is {options.header_row}. Rows are numbered from 1.")
    loaders = {loader.name: loader for path, _ in files if (loader := find_loader(path))}
    for name in sorted(loaders):
        loaders[name].check_installed()


def _read(
    files: Sequence[FoundFile], unread: tuple[BadRecord, ...], options: ReadingOptions, sandbox: Sandbox | None
) -> Iterator[Record | BadRecord]:
    yield from unread
    with nullcontext(sandbox) if sandbox else Sandbox() as sandbox:
        for file in files:
            loader = find_loader(file.path)
            if loader is None:
                raise UsageError(f"The format of '{file.source}' is unknown. Check the suffix of the file.")
            try:
                if what := disguise(file.path):
                    yield BadRecord(
                        file.source, f"it is {what}, which its name does not tell. Rename it, or convert it"
                    )
                elif isinstance(loader, BuiltInLoader):
                    yield from loader.within(sandbox).read(file, options)
                else:
                    yield from _read_with_plugin(loader, file, options)
            except OSError as error:
                yield BadRecord(file.source, f"cannot be read ({error.strerror})")


def _read_with_plugin(loader: Loader, file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
    try:
        for record in loader.read(file, options):
            if defect := _find_defect(record):
                yield BadRecord(file.source, f"the loader '{loader.name}' yielded {defect}")
                return
            yield record
    except (DiscreetError, OSError):
        raise
    except Exception as error:  # the message may contain a part of the file
        yield BadRecord(file.source, f"the loader '{loader.name}' failed ({type(error).__name__})")


def _find_defect(record: object) -> str:
    """Return why what a plug-in yielded is no record, without any of its content; "" if it is one."""
    if not isinstance(record, Record | BadRecord):
        return f"an object of type {type(record).__name__}; expected a Record(values, where, source) or a BadRecord"
    texts = ("where", "source") if isinstance(record, Record) else ("where", "reason")
    wrong = next((name for name in texts if not isinstance(getattr(record, name), str)), "")
    if isinstance(record, Record) and not _is_fields(record.values):
        wrong, needed = "values", "a dictionary from names of fields to their values"
    else:
        needed = "a text"
    if not wrong:
        return ""
    kind, found = type(record).__name__, type(getattr(record, wrong)).__name__
    order = f"{kind}({', '.join(('values', *texts) if kind == 'Record' else texts)})"
    return f"a {kind} whose `{wrong}` is of type {found}; expected {needed}, in the order {order}"


def _is_fields(values: object) -> bool:
    return isinstance(values, Mapping) and all(isinstance(name, str) for name in values)
