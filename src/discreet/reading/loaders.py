"""Loaders: each reads the files of some suffixes. The built-in loaders and those of plug-ins have one protocol."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from discreet import plugins
from discreet.errors import MissingPart
from discreet.reading.delimited import read_delimited
from discreet.reading.documents import read_document, read_workbook
from discreet.reading.objects import read_json, read_lines
from discreet.reading.options import ReadingOptions
from discreet.reading.parquet import read_parquet
from discreet.reading.records import BadRecord, FoundFile, Record
from discreet.reading.sandbox import Sandbox
from discreet.reading.texts import read_text

_PLAIN_TABLES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")
TABLES = (*_PLAIN_TABLES, *(f"{kind}.gz" for kind in _PLAIN_TABLES), ".parquet", ".xlsx")
"""Suffixes of files of records."""
TEXTS = (".txt", ".md")
"""Suffixes of files of one text each."""
DOCUMENTS = (".pdf", ".docx", ".odt", ".pptx", ".html", ".htm", ".eml")
"""Suffixes of files of one text each, which other programs write."""
KINDS = (*TABLES, *TEXTS, *DOCUMENTS)
"""All suffixes that the built-in loaders read."""

Records = Iterator[Record | BadRecord]


class Loader(Protocol):
    """A reader of one kind of files.

    A record must depend on its own part of the file alone: text must never move from one unit to another. A part that
    cannot be read is yielded as a `BadRecord`, and the parts behind it are still read.
    """

    @property
    def name(self) -> str:
        """Return the name of the loader, for messages."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Return the suffixes of the files that it reads: lower case, each with its dot, such as ".csv"."""

    @property
    def reads_tables(self) -> bool:
        """Return whether a file holds records that name their units; False if a file is one text (`Record.whole`)."""

    def check_installed(self) -> None:
        """Check the libraries that the loader needs, before any file is read.

        Raises:
            MissingPart, UsageError: if a library is not installed.
        """

    def read(self, file: FoundFile, options: ReadingOptions) -> Records:
        """Yield each record of a file, and each part that cannot be read.

        Raises:
            OSError: if the file cannot be opened.
            BadData: if a table has no column for the text, or a needed column twice.
        """


@dataclass(frozen=True)
class BuiltInLoader:
    """A loader of this package.

    Attributes:
        name: of the loader.
        suffixes: of the files that it reads.
        reads_tables: whether a file holds records that name their units.
        function: reads a file; it gets a sandbox for files of office programs.
        library: the library that it needs; "" for none.
        part: the part of discreet that installs the library.
        sandbox: in which the function works; None: a sandbox for each file.
    """

    name: str
    suffixes: tuple[str, ...]
    reads_tables: bool
    function: Callable[[FoundFile, ReadingOptions, Sandbox], Records]
    library: str = ""
    part: str = ""
    sandbox: Sandbox | None = None

    def check_installed(self) -> None:
        """Check the library.

        Raises:
            MissingPart: if it is not installed.
        """
        if self.library and find_spec(self.library) is None:
            raise MissingPart(f"{self.name.upper()} files need {self.library}", self.part)

    def read(self, file: FoundFile, options: ReadingOptions) -> Records:
        """Yield each record of a file, and each part that cannot be read."""
        with nullcontext(self.sandbox) if self.sandbox else Sandbox() as sandbox:
            yield from self.function(file, options, sandbox)

    def within(self, sandbox: Sandbox) -> "BuiltInLoader":
        """Return the same loader, which works in `sandbox`."""
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
    BuiltInLoader("txt", (".txt",), False, _without_sandbox(read_text)),
    BuiltInLoader("md", (".md",), False, _without_sandbox(read_text)),
    BuiltInLoader("pdf", (".pdf",), False, read_document, "kreuzberg", "files"),
    BuiltInLoader("document", tuple(suffix for suffix in DOCUMENTS if suffix != ".pdf"), False, read_document),
)
"""The loaders of this package. Plug-ins cannot replace them."""


def find_loader(path: Path) -> Loader | None:
    """Return the loader that reads a file, by the suffix of its name; None if there is none."""
    name = path.name.lower()
    for loader in (*BUILT_IN, *_plugins()[0]):
        if name.endswith(loader.suffixes):
            return loader
    return None


def known_suffixes() -> tuple[str, ...]:
    """Return the suffixes of all files that can be read."""
    return (*KINDS, *(suffix for loader in _plugins()[0] for suffix in loader.suffixes))


def loader_failures() -> tuple[str, ...]:
    """Return one sentence for each loader of a plug-in that cannot be used."""
    return _plugins()[1]


def forget_plugins() -> None:
    """Look for the loaders of plug-ins again at the next use: for tests that install one."""
    _plugins.cache_clear()


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
        return None, f"{type(error).__name__} while it was made."
    if not complete or not isinstance(suffixes, tuple) or not suffixes:
        return None, "it is not a discreet.reading.loaders.Loader."
    wrong = [
        suffix for suffix in suffixes if not isinstance(suffix, str) or suffix[:1] != "." or suffix.lower() != suffix
    ]
    if wrong:
        return None, f"a suffix is lower case and begins with a dot; {wrong[0]!r} does not fit."
    if twice := sorted(taken & set(suffixes)):
        return None, f"another loader reads {', '.join(twice)}."
    return loader, ""
