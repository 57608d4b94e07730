"""Reading of records from files of all known formats. A part that cannot be read is reported, and does not end it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from discreet.errors import DiscreetError, UsageError
from discreet.reading.characters import known_encoding
from discreet.reading.delimited import Dialect, detect_dialect
from discreet.reading.finding import PASSED_OVER, Found, find_files
from discreet.reading.loaders import DOCUMENTS, KINDS, BuiltInLoader, Loader, find_loader
from discreet.reading.options import ReadingOptions
from discreet.reading.records import BadRecord, FoundFile, Record, kind_of
from discreet.reading.sandbox import Sandbox

__all__ = [
    "DOCUMENTS",
    "KINDS",
    "PASSED_OVER",
    "BadRecord",
    "Dialect",
    "Found",
    "FoundFile",
    "ReadingOptions",
    "Record",
    "detect_dialect",
    "find_files",
    "is_table",
    "kind_of",
    "read_records",
]


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
                if isinstance(loader, BuiltInLoader):
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
