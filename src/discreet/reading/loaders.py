"""Loaders of files, by suffix. The built-in loaders and those of plug-ins have one protocol."""

import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from discreet import plugins
from discreet.errors import MissingPart
from discreet.reading.documents import read_document, read_mails, read_workbook
from discreet.reading.encodings import Doubtful, detect_encoding, doubtful, told
from discreet.reading.objects import read_json, read_lines
from discreet.reading.records import (
    DAMAGE,
    LONGEST,
    BadRecord,
    FoundFile,
    NoText,
    ReadingOptions,
    Record,
    kind_of,
    open_bytes,
)
from discreet.reading.sandbox import Sandbox
from discreet.reading.tables import read_delimited, read_parquet


def read_text(file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
    """Yield the text of a file."""
    path, source = file
    if path.stat().st_size > LONGEST:
        yield BadRecord(source, f"larger than {LONGEST >> 20} MiB: split it into several files")
        return
    try:
        encoding = options.encoding or detect_encoding(lambda: path.open("rb"))
        text = path.read_bytes().decode(encoding).removeprefix("\ufeff")
    except Doubtful as error:
        yield BadRecord(source, doubtful(error))
        return
    except UnicodeError:
        yield BadRecord(source, f"not {encoding.upper()}. Give the encoding: --encoding NAME")
        return
    if "\0" in text:
        yield BadRecord(source, "not a text: it contains zero bytes")
    elif text.strip():
        yield Record({"text": text}, source, source, whole=True, encoding=told(encoding))
    else:
        yield NoText(source, "no text")


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


def disguise(path: Path) -> str:
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


_PLAIN_TABLES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")
TABLES = (*_PLAIN_TABLES, *(f"{kind}.gz" for kind in _PLAIN_TABLES), ".parquet", ".xlsx", ".mbox")
"""Suffixes of files of records."""
TEXTS = (".txt", ".md")
"""Suffixes of files of one text each."""
DOCUMENTS = (".pdf", ".docx", ".odt", ".pptx", ".html", ".htm", ".eml")
"""Suffixes of documents of other programs, of one text each."""
KINDS = (*TABLES, *TEXTS, *DOCUMENTS)
"""All suffixes that the built-in loaders read."""

Records = Iterator[Record | BadRecord]


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
        sandbox: the sandbox of the function; None for a new sandbox for each file.
    """

    name: str
    suffixes: tuple[str, ...]
    reads_tables: bool
    function: Callable[[FoundFile, ReadingOptions, Sandbox], Records]
    library: str = ""
    part: str = ""
    sandbox: Sandbox | None = None

    def check_installed(self) -> None:
        """Check the needed library.

        Raises:
            MissingPart: if the library is not installed.
        """
        if self.library and find_spec(self.library) is None:
            raise MissingPart(f"{self.name.upper()} files need {self.library}", self.part)

    def read(self, file: FoundFile, options: ReadingOptions) -> Records:
        """Yield each record of a file, and each part that cannot be read."""
        with nullcontext(self.sandbox) if self.sandbox else Sandbox() as sandbox:
            yield from self.function(file, options, sandbox)

    def within(self, sandbox: Sandbox) -> "BuiltInLoader":
        """Return a copy of the loader that uses `sandbox`."""
        return replace(self, sandbox=sandbox)


def _without_sandbox(read: Callable[[FoundFile, ReadingOptions], Records]) -> Callable[..., Records]:
    return lambda file, options, _: read(file, options)


def _with_packed(*suffixes: str) -> tuple[str, ...]:
    return (*suffixes, *(f"{suffix}.gz" for suffix in suffixes))


BUILT_IN = (
    BuiltInLoader("jsonl", _with_packed(".jsonl", ".ndjson"), True, _without_sandbox(read_lines)),
    BuiltInLoader("json", _with_packed(".json"), True, _without_sandbox(read_json)),
    BuiltInLoader("csv", _with_packed(".csv"), True, _without_sandbox(read_delimited)),
    BuiltInLoader("tsv", _with_packed(".tsv"), True, _without_sandbox(read_delimited)),
    BuiltInLoader("parquet", (".parquet",), True, _without_sandbox(read_parquet), "pyarrow", "parquet"),
    BuiltInLoader("xlsx", (".xlsx",), True, read_workbook, "openpyxl", "files"),
    BuiltInLoader("mbox", (".mbox",), True, read_mails),
    BuiltInLoader("txt", (".txt",), False, _without_sandbox(read_text)),
    BuiltInLoader("md", (".md",), False, _without_sandbox(read_text)),
    BuiltInLoader("pdf", (".pdf",), False, read_document, "kreuzberg", "files"),
    BuiltInLoader("document", tuple(suffix for suffix in DOCUMENTS if suffix != ".pdf"), False, read_document),
)
"""The loaders of this package. Plug-ins cannot replace them."""


def find_loader(path: Path) -> Loader | None:
    """Return the loader of a file by its suffix; None if the suffix is unknown."""
    name = path.name.lower()
    for loader in (*BUILT_IN, *_plugins()[0]):
        if name.endswith(loader.suffixes):
            return loader
    return None


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
    taken = set(KINDS)
    usable: list[Loader] = []
    for name, declared in plugins.load_usable(plugins.LOADERS, reserved).items():
        loader, defect = _make(declared, taken)
        if loader is None:
            failures.append(f"The loader '{name}' of a plug-in cannot be used: {defect}")
        else:
            usable.append(loader)
            taken.update(loader.suffixes)
    return tuple(usable), tuple(failures)


def _make(declared: Any, taken: set[str]) -> tuple[Loader | None, str]:
    """Return the loader that an entry point declares, or None and its defect."""
    try:
        loader = declared()
        suffixes = loader.suffixes
        complete = all(hasattr(loader, name) for name in ("name", "reads_tables", "check_installed", "read"))
    except Exception as error:  # the code of a plug-in may raise anything
        return None, f"it raised {type(error).__name__}."
    if not complete or not isinstance(suffixes, tuple) or not suffixes:
        return None, "it is not a discreet.reading.loaders.Loader."
    wrong = [
        suffix for suffix in suffixes if not isinstance(suffix, str) or suffix[:1] != "." or suffix.lower() != suffix
    ]
    if wrong:
        return None, f"its suffix {wrong[0]!r} must be in lower case and begin with a dot."
    if twice := sorted(taken & set(suffixes)):
        return None, f"another loader reads {', '.join(twice)}."
    return loader, ""
