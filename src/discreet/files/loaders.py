"""The files of an addition: the search for them, their loaders, and their records.

What cannot be read is reported with its reason, and does not end the search. The built-in loaders and those of plug-ins
have one protocol.
"""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatch
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from discreet import plugins
from discreet.errors import DiscreetError, MissingPart, UnknownName, UsageError
from discreet.files.records import (
    DAMAGE,
    DAMAGED,
    LONGEST,
    BadRecord,
    ExtractedText,
    FoundFile,
    NoText,
    PartLeftOut,
    ReadingOptions,
    Record,
    Records,
    Unreadable,
    check_encoding,
    detect_encoding,
    kind_of,
    open_bytes,
    told,
)
from discreet.files.sandbox import Sandbox
from discreet.files.tables import read_delimited, read_json, read_lines, read_parquet, read_workbook
from discreet.system.words import counted, is_unicode, quoted

PASSED_OVER = (".DS_Store", "Thumbs.db", "desktop.ini", "._*", "~$*", ".~lock.*#", ".git", "__MACOSX")
"""Files and folders of operating systems and office programs. They are skipped without a report."""
UNKNOWN = "unknown format, not read (save .doc, .rtf and .xls as .docx or .xlsx)"
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


def find_files(paths: Sequence[Path | FoundFile]) -> Found:
    """Return the files at `paths`, and those in folders. A file that is found twice counts once.

    A file of an earlier search is returned unchanged.

    Raises:
        UsageError: if a path does not exist, if no file has a known format, or if two files would get one name.
    """
    files: dict[str, FoundFile] = {}
    unread: dict[str, BadRecord] = {}
    for path in paths:
        if isinstance(path, FoundFile):
            files.setdefault(os.path.abspath(path.path), path)
            continue
        for file in _below(path) if _is_folder(path) else iter([_named(path, path.name)]):
            if isinstance(file, BadRecord):
                unread.setdefault(f"{file.where} {file.reason}", file)
            else:
                files.setdefault(os.path.abspath(file.path), file)
    _check_names(files.values())
    if paths and not files and all(bad.reason == UNKNOWN for bad in unread.values()):
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
        near = list[str]()
        with suppress(OSError):
            near = get_close_matches(path.name, os.listdir(path.parent), 1)
        mend = f"Did you mean {quoted(path.with_name(near[0]))}?" if near else "Check the path."
        raise UsageError(f"There is no file or folder at {path}. {mend}") from error
    except OSError as error:  # a name that is too long, a loop of links, a folder without permission
        raise UsageError(f"The path {path} cannot be opened: {error.strerror}. Check the path.") from error
    return stat.S_ISDIR(mode)


def _below(folder: Path) -> Iterator[FoundFile | BadRecord]:
    closed: list[OSError] = []
    paths: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=closed.append):
        folders[:] = [name for name in folders if not _is_passed_over(name)]
        paths += (Path(root, name) for name in folders if Path(root, name).is_symlink())
        paths += (Path(root, name) for name in names if not _is_passed_over(name))
    for error in closed:
        name = _printable(Path(error.filename).relative_to(folder).as_posix())
        yield BadRecord(name if name != "." else folder.name, f"cannot be opened ({error.strerror})")
    inside = folder.resolve()
    for path in sorted(paths):
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


# --- texts and documents ---------------------------------------------------------------------------------------------

_PLAIN = ("txt", "md")
_SCANNED = "no text: it may be scanned. --ocr reads scanned pages"


def read_document(file: FoundFile, options: ReadingOptions, sandbox: Sandbox) -> Records:
    """Yield the text of a file that contains one, and the parts that cannot be read."""
    source, kind = file.source, kind_of(file.path)
    (document,) = [_plain_text(file.path, options)] if kind in _PLAIN else sandbox.read(ExtractedText, file, options)
    if document.text.strip():
        read_by = f"{counted(document.recognized, 'scanned page')} read by OCR" if document.recognized else ""
        written = told(document.encoding) or read_by
        yield Record({**document.fields, "text": document.text}, source, source, whole=True, written=written)
    elif kind == "pdf":
        yield BadRecord(source, "no text, and OCR found none" if options.ocr else _SCANNED)
    else:
        yield NoText(source, "no text")
    yield from _left_out(document, source, kind, options)


def _plain_text(path: Path, options: ReadingOptions) -> ExtractedText:
    if path.stat().st_size > LONGEST:
        raise Unreadable(f"larger than {LONGEST >> 20} MiB: split it into several files")
    encoding = options.encoding or detect_encoding(lambda: path.open("rb"))
    try:
        text = path.read_bytes().decode(encoding).removeprefix("\ufeff")
    except UnicodeError:
        raise Unreadable(f"not {encoding.upper()}. Give the encoding: --encoding NAME") from None
    if "\0" in text:
        raise Unreadable("not a text: it contains zero bytes")
    return ExtractedText(text, encoding)


def read_mails(file: FoundFile, options: ReadingOptions, sandbox: Sandbox) -> Records:
    """Yield the mails of a box, each with the fields of its header: `from` is the address of the sender."""
    source = file.source
    for number, mail in enumerate(sandbox.read(ExtractedText, file, options), 1):
        where = f"{source} mail {number}"
        fields = {**mail.fields, "id": mail.fields.get("message-id", ""), "text": mail.text}
        yield Record(fields, where, source, written=told(mail.encoding))
        yield from _left_out(mail, where, "eml", options)


def _left_out(found: ExtractedText, where: str, kind: str, options: ReadingOptions) -> Iterator[BadRecord]:
    """Yield the parts of a document that were not read."""
    left_out = PartLeftOut if found.text.strip() else BadRecord
    thing, whole, remedy = _THINGS.get(kind, _OBJECT)
    if found.text.strip() and found.pages:
        pages = f"{counted(found.pages, 'page')} {'has' if found.pages == 1 else 'have'} no text"
        scanned = "" if options.ocr else " and may be scanned (--ocr reads them)"
        yield left_out(where, f"{pages}{scanned}; the others are read")
    if found.attachments:
        are = f"{counted(found.attachments, thing)} {'is' if found.attachments == 1 else 'are'} not read"
        yield left_out(where, f"{are}{f', but {whole} is' if not found.bodiless else ''}: {remedy}")
    if found.bodiless:
        yield left_out(where, "the mail has no text of its own; its header is read")
    if found.forms:
        yield left_out(
            where, "the values of form fields are not read, but the other text is: print the form to a new PDF"
        )


_OBJECT = "embedded object", "the text", "save embedded objects as files"
_THINGS = {
    "eml": ("attachment", "the mail", "save attachments as files"),
    "pdf": ("embedded file", "the text", "save embedded files by themselves"),
}


# --- loaders ---------------------------------------------------------------------------------------------------------


class Loader(Protocol):
    """A reader of one format.

    A record must depend only on its own part of the file: text must never move from one unit to another. A part that
    cannot be read is yielded as a `BadRecord`, and later parts are still read.
    """

    @property
    def name(self) -> str:
        """Return the name of the loader, for messages."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Return the suffixes of its files, in lower case and with the dot, such as ".csv"."""

    @property
    def reads_tables(self) -> bool:
        """Return whether a file contains records that name their units; False if it is one text (`Record.whole`)."""

    def check_installed(self) -> None:
        """Check the libraries that the loader needs, before any file is read.

        Raises:
            MissingPart, UsageError: if a library is not installed.
        """

    def read(self, file: FoundFile, options: ReadingOptions) -> Records:
        """Yield each record of a file, and each part that cannot be read.

        Raises:
            OSError: if the file cannot be opened.
            BadData: if a table has no text column, or has a needed column twice.
        """


@dataclass(frozen=True)
class BuiltInLoader:
    """A loader of this package.

    Attributes:
        name: the name of the loader.
        suffixes: the suffixes of its files.
        reads_tables: whether a file contains records that name their units.
        function: the function that reads a file. It receives a sandbox for files of office programs.
        library: the needed library; "" for none.
        part: the part of discreet that installs the library.
    """

    name: str
    suffixes: tuple[str, ...]
    reads_tables: bool
    function: Callable[[FoundFile, ReadingOptions, Sandbox], Records]
    library: str = ""
    part: str = ""

    def check_installed(self) -> None:
        """Check the needed library.

        Raises:
            MissingPart: if the library is not installed.
        """
        if self.library and find_spec(self.library) is None:
            raise MissingPart(f"{self.name.upper()} files need {self.library}", self.part)

    def read(self, file: FoundFile, options: ReadingOptions, sandbox: Sandbox | None = None) -> Records:
        """Yield each record of a file, and each part that cannot be read."""
        with nullcontext(sandbox) if sandbox else Sandbox() as box:
            try:
                yield from self.function(file, options, box)
            except Unreadable as error:
                yield BadRecord(file.source, str(error))
            except DAMAGE:
                yield BadRecord(file.source, DAMAGED)


BUILT_IN = (
    BuiltInLoader("jsonl", (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"), True, read_lines),
    BuiltInLoader("json", (".json", ".json.gz"), True, read_json),
    BuiltInLoader("csv", (".csv", ".csv.gz"), True, read_delimited),
    BuiltInLoader("tsv", (".tsv", ".tsv.gz"), True, read_delimited),
    BuiltInLoader("parquet", (".parquet",), True, read_parquet, "pyarrow", "parquet"),
    BuiltInLoader("xlsx", (".xlsx",), True, read_workbook, "openpyxl", "files"),
    BuiltInLoader("mbox", (".mbox",), True, read_mails),
    BuiltInLoader("txt", (".txt",), False, read_document),
    BuiltInLoader("md", (".md",), False, read_document),
    BuiltInLoader("pdf", (".pdf",), False, read_document, "pypdfium2", "files"),
    BuiltInLoader("document", (".docx", ".odt", ".pptx", ".html", ".htm", ".eml"), False, read_document),
)
"""The loaders of this package. Plug-ins cannot replace them."""
KINDS = tuple(sorted((one for loader in BUILT_IN for one in loader.suffixes), key=lambda one: one.endswith(".gz")))
"""All suffixes that the built-in loaders read."""


def find_loader(path: Path) -> Loader | None:
    """Return the loader of a file by its suffix; None if the suffix is unknown."""
    return next((one for one in (*BUILT_IN, *_plugins()[0]) if path.name.lower().endswith(one.suffixes)), None)


def is_table(path: Path) -> bool:
    """Return whether the suffix of a file states that it contains records."""
    loader = find_loader(path)
    return loader is not None and loader.reads_tables


def known_suffixes() -> tuple[str, ...]:
    """Return all suffixes that a loader reads."""
    return (*KINDS, *(suffix for loader in _plugins()[0] for suffix in loader.suffixes))


def loader_failures() -> tuple[str, ...]:
    """Return one sentence for each loader of a plug-in that cannot be used."""
    return _plugins()[1]


@cache
def _plugins() -> tuple[tuple[Loader, ...], tuple[str, ...]]:
    reserved = {loader.name for loader in BUILT_IN}
    failures = [str(failure) for failure in plugins.find_failures(plugins.LOADERS, reserved)]
    taken, usable = set(KINDS), list[Loader]()
    for name, declared in plugins.load_usable(plugins.LOADERS, reserved).items():
        try:
            usable.append(_made(declared, taken))
            taken.update(usable[-1].suffixes)
        except ValueError as defect:
            failures.append(f"The loader '{name}' of a plug-in cannot be used: {defect}")
    return tuple(usable), tuple(failures)


def _made(declared: Any, taken: set[str]) -> Loader:
    """Return the loader that an entry point declares.

    Raises:
        ValueError: if it cannot be used. The message is its defect.
    """
    try:
        loader = declared()
        suffixes = loader.suffixes
        complete = all(hasattr(loader, name) for name in ("name", "reads_tables", "check_installed", "read"))
    except Exception as error:  # the code of a plug-in may raise anything
        raise ValueError(f"it raised {type(error).__name__}.") from error
    if not complete or not isinstance(suffixes, tuple) or not suffixes:
        raise ValueError("it is not a discreet.files.loaders.Loader.")
    for suffix in suffixes:
        if not isinstance(suffix, str) or suffix[:1] != "." or suffix.lower() != suffix:
            raise ValueError(f"its suffix {suffix!r} must be in lower case and begin with a dot.")
    if twice := sorted(taken & set(suffixes)):
        raise ValueError(f"another loader reads {', '.join(twice)}.")
    return cast(Loader, loader)


_SIGNS = (
    (re.compile(rb"\s*%PDF-"), "a PDF"),
    (re.compile(rb"\s*\{\\rtf"), "RTF"),
    (re.compile(rb"PK\x03\x04"), "a ZIP file, such as DOCX or XLSX"),
    (re.compile(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "an encrypted file, or one of Office before 2007"),
    (re.compile(rb"\x1f\x8b\x08"), "a packed file"),
    (re.compile(rb"SQLite format 3\0|PAR1|\x89PNG|\xff\xd8\xff|GIF8"), "a file of another program"),
    (re.compile(rb"(?=[\w-]+:)(?s:.{0,2000})^Content-Type:\s*multipart/related", re.I | re.M), "a web archive (MHTML)"),
)
_OF_TEXT = ("txt", "md", "html", "eml", "mbox", "csv", "tsv", "json", "jsonl")


def _disguise(path: Path) -> str:
    """Return what a file of text really is, by its first bytes; "" if it may be what its name tells."""
    kind = kind_of(path)
    if kind not in _OF_TEXT:
        return ""
    try:
        with open_bytes(path) as file:
            start = file.read(4096)
    except DAMAGE:
        return ""  # what is damaged is reported by its reader
    signs = _SIGNS if kind in ("html", "txt", "md") else _SIGNS[:-1]
    return next((what for sign, what in signs if sign.match(start)), "")


def read_records(
    files: Sequence[Path | FoundFile], options: ReadingOptions | None = None, sandbox: Sandbox | None = None
) -> Records:
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
    listing = find_files(files)
    check_readable(listing.files, options)
    return _read(listing, options, sandbox)


def check_readable(files: Iterable[FoundFile], options: ReadingOptions) -> None:
    """Check the options and the libraries that the files need, before any file is read.

    Raises:
        UsageError: if there is no such encoding, delimiter or row.
        MissingPart: if a format needs a part that is not installed.
    """
    if options.encoding:
        check_encoding(options.encoding)
    if options.delimiter is not None and len(options.delimiter) != 1:
        raise UsageError(f"--delimiter is '{options.delimiter}'. Give one character, such as ';' or a tab.")
    if options.header_row < 1:
        raise UsageError(f"--header-row is {options.header_row}. Rows are numbered from 1.")
    loaders = {loader.name: loader for path, _ in files if (loader := find_loader(path))}
    for name in sorted(loaders):
        loaders[name].check_installed()
    if options.ocr and find_spec("rapidocr") is None:
        raise MissingPart("Reading scanned pages needs rapidocr", "ocr")


def _read(found: Found, options: ReadingOptions, sandbox: Sandbox | None) -> Records:
    yield from found.unread
    with nullcontext(sandbox) if sandbox else Sandbox() as sandbox:
        for file in found.files:
            yield from read_file(file, options, sandbox)


def read_file(file: FoundFile, options: ReadingOptions, sandbox: Sandbox) -> Records:
    """Yield the records of a file that was found, and each part that cannot be read.

    Raises:
        UsageError: if the format is unknown.
        BadData: if a table has no text column, or has a needed column twice.
    """
    loader = find_loader(file.path)
    if loader is None:
        raise UsageError(f"The format of '{file.source}' is unknown. Check the suffix of the file.")
    try:
        if what := _disguise(file.path):
            yield BadRecord(file.source, f"it is {what}, which its name does not tell. Rename it, or convert it")
        elif isinstance(loader, BuiltInLoader):
            yield from loader.read(file, options, sandbox)
        else:
            yield from _read_with_plugin(loader, file, options)
    except OSError as error:
        yield BadRecord(file.source, f"cannot be read ({error.strerror})")


def _read_with_plugin(loader: Loader, file: FoundFile, options: ReadingOptions) -> Records:
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


_FORMS: Mapping[type, Mapping[str, type]] = {
    Record: {"values": Mapping, "where": str, "source": str},
    BadRecord: {"where": str, "reason": str},
}


def _find_defect(record: object) -> str:
    """Return why what a plug-in yielded is no record, without any of its content; "" if it is one."""
    kind = next((kind for kind in _FORMS if isinstance(record, kind)), None)
    if kind is None:
        return f"an object of type {type(record).__name__}; expected a Record(values, where, source) or a BadRecord"
    for name, form in _FORMS[kind].items():
        value = getattr(record, name)
        if not isinstance(value, form) or (
            isinstance(value, Mapping) and not all(isinstance(one, str) for one in value)
        ):
            needed = "a text" if form is str else "a dictionary from names of fields to their values"
            order = f"{kind.__name__}({', '.join(_FORMS[kind])})"
            wrong = f"a {kind.__name__} whose `{name}` is of type {type(value).__name__}"
            return f"{wrong}; expected {needed}, in the order {order}"
    return ""


# --- the standard input ----------------------------------------------------------------------------------------------

SOURCE = "standard input"
FORMATS = tuple(one.strip(".") for one in KINDS if is_table(Path(f"a{one}")) or one.strip(".") in _PLAIN)
"""The formats of the standard input: all but the documents of office programs."""
_PIECE = 2**20


@contextmanager
def kept_stdin(stream: BinaryIO, kind: str | None = None) -> Iterator[FoundFile]:
    """Keep the standard input in a temporary file that only this user can read, until the `with` block ends.

    The file is read several times: to detect its dialect, to check its units, and to add its records.

    Args:
        stream: the stream of bytes.
        kind: one of `FORMATS`. None: JSON, as a list or as one object a line; the first line decides.

    Raises:
        UnknownName: if there is no such format.
        UsageError: if no format was given, and the input is not JSON.
    """
    if kind is not None and kind not in FORMATS:
        raise UnknownName("format", kind, FORMATS)
    start = stream.read(_PIECE)
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        path = Path(folder, f"input.{kind or _json_kind(start)}")
        with path.open("wb") as file:
            file.write(start)
            shutil.copyfileobj(stream, file)
        yield FoundFile(path, SOURCE)


def _json_kind(start: bytes) -> str:
    first = start.lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")
    if first[:1] not in (b"{", b"["):
        raise UsageError("The standard input is not JSON. Give its format: --format csv (or tsv, xlsx, parquet, txt).")
    line = first.partition(b"\n")[0].rstrip(b"\0 \t\r")
    return "jsonl" if first.startswith(b"{") and line.endswith(b"}") else "json"
