"""The way of documents into a vault: from files or a program to its store."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

from discreet.config import VaultConfig
from discreet.reading.files import FoundFile, ReadingOptions
from discreet.reading.identity import Fields
from discreet.reading.intake import Alike, Intake, no_doubts
from discreet.reading.records import BadRecord, PartLeftOut
from discreet.reading.units import UnitRules
from discreet.retrieval.documents import Document
from discreet.retrieval.indexer import Counts, Indexer
from discreet.retrieval.store import Store
from discreet.system.progress import stage
from discreet.system.words import quoted

_NAMELESS = (
    "has no unit, but the stored document with its id has one. The stored document was kept. Set the unit field, or "
    "remove the stored document first"
)
_TAKEN = (
    "the stored document with its id is about another individual. The stored document was kept. Give this document an "
    "id of its own; if both are one document, remove the stored document first"
)
_CONFLICT = "the same id as a record before it, with another text or unit; the first was kept"
Progress = Callable[[str, int], None]
"""Receives the kind of the objects that are done, and the number of those done since the last call."""


@contextmanager
def reported(name: str, progress: Progress | None, total: int | None = None) -> Iterator[Progress]:
    """Yield `progress`, or a report of the stage `name` if it is None."""
    if progress is not None:
        yield progress
        return
    with stage(name, total) as advance:
        yield lambda _kind, count: advance(count)


class How(TypedDict, total=False):
    """The way in which files become documents. All keys are optional.

    Attributes:
        text_field: the field of a record with its text, or several fields, whose texts are joined in their order;
            default "text".
        unit_field: the field that names the individual; default that of the vault.
        id_field: the field with the id of the document; default "id". A record without one is named by its unit and
            its text.
        units: the rules by which files, and records without a unit, get a unit; by default they are refused.
        encoding: the encoding of text files and tables; by default detected for each file.
        delimiter: the delimiter of the columns of a table; by default detected for each file.
    """

    text_field: str | Sequence[str]
    unit_field: str | None
    id_field: str
    units: UnitRules
    encoding: str | None
    delimiter: str | None


@dataclass(frozen=True)
class Added:
    """The result of an addition.

    Attributes:
        added, replaced, unchanged: numbers of documents.
        own_unit: the number of documents without a unit, each of which became a unit of its own.
        bad: the records that were not added, by location and reason: unreadable, or with the id of another document.
        conflicts: the ids that came twice with different content (also in `bad`); the first was kept.
        repeated: the number of records that repeat a record of the same unit in the same file; they are kept.
        buried: the number of documents about erased individuals. `bad` names each of these individuals.
        batch: the number of the batch of the added documents (for `discreet undo`); 0 if none was added.
        in_part: the parts of files that were left out, such as attachments, though the rest was added.
    """

    added: int
    replaced: int
    unchanged: int
    own_unit: int
    bad: tuple[BadRecord, ...]
    conflicts: tuple[str, ...]
    repeated: int = 0
    buried: int = 0
    batch: int = 0
    in_part: tuple[BadRecord, ...] = ()


class _Locations:
    """The files and lines of documents, for messages about documents that a store refuses."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._again: dict[str, list[str]] = {}

    def see(self, name: str, where: str) -> None:
        if self._first.setdefault(name, where) != where:
            self._again.setdefault(name, []).append(where)

    def of(self, name: str) -> str:
        return self._first.get(name, f"the document '{name}'")

    def again(self, name: str) -> str:
        """Return the next of the later locations of an id."""
        later = self._again.get(name)
        return later.pop(0) if later else self.of(name)


def open_intake(
    paths: Sequence[str | Path | FoundFile], how: How, settings: VaultConfig, alike: Alike = no_doubts
) -> Intake:
    """Find the files of an addition to the vault with these settings. `alike` returns doubts about names of units.

    Raises:
        UsageError, BadData: if a path does not exist, or if the rules for units cannot be used.
    """
    unit_field = how.get("unit_field") or settings.unit_field
    named = how.get("text_field", "text")
    text, *more = dict.fromkeys([named] if isinstance(named, str) else named)
    fields = Fields(text, unit_field, how.get("id_field", "id"), settings.fields, tuple(more))
    options = ReadingOptions(fields.text, how.get("encoding"), how.get("delimiter"))
    files = [path if isinstance(path, FoundFile) else Path(path) for path in paths]
    return Intake(files, fields, options, how.get("units", UnitRules()), settings.unit_field, alike)


def add_files(indexer: Indexer, store: Store, intake: Intake, progress: Progress | None) -> Added:
    """Add the documents of files. Report each unreadable record, and add the others.

    Raises:
        UsageError, BadData: if units are not named, or a field is missing. Nothing was written.
    """
    bad, parts = list[BadRecord](), list[PartLeftOut]()
    locations, repeated = _Locations(), 0
    records = intake.documents()

    def good() -> Iterator[Document]:
        nonlocal repeated
        for one in records:
            if isinstance(one, PartLeftOut):
                parts.append(one)
                continue
            if isinstance(one, BadRecord):
                bad.append(one)
                continue
            repeated += one.repeated
            locations.see(one.document.id, one.where)
            yield one.document

    found = _add(indexer, good(), locations, progress, len(intake.files))
    bad += found.bad
    refused = {one.where for one in bad}
    return replace(
        found, bad=tuple(bad), repeated=repeated, in_part=tuple(one for one in parts if one.where not in refused)
    )


def add_documents(indexer: Indexer, documents: Iterable[Document], progress: Progress | None) -> Added:
    """Add documents from a program."""
    return _add(indexer, documents, _Locations(), progress)


def _add(
    indexer: Indexer, documents: Iterable[Document], locations: _Locations, progress: Progress | None, files: int = 0
) -> Added:
    own_unit = 0

    def counted() -> Iterator[Document]:
        nonlocal own_unit
        for document in documents:
            own_unit += document.own_unit
            yield document

    done = None if progress is None else lambda count: progress("documents", count)
    counts = indexer.index(counted(), progress=done, files=files)
    return Added(
        counts.added,
        counts.replaced,
        counts.unchanged,
        own_unit,
        tuple(_left_out(counts, locations)),
        tuple(counts.conflicts),
        buried=counts.buried.total(),
        batch=counts.batch,
    )


def _left_out(counts: Counts, locations: _Locations) -> Iterator[BadRecord]:
    for names, reason in ((counts.nameless, _NAMELESS), (counts.taken, _TAKEN)):
        for name in names:
            yield BadRecord(locations.of(name), reason)
    for name in counts.conflicts:
        yield BadRecord(locations.again(name), _CONFLICT)
    for (name, time), number in counts.buried.items():
        yield BadRecord(
            f"the individual '{name}'",
            f"was erased on {time[:10]} (or joined to another name), and {number} of its documents came again. They "
            f"were refused. To accept an erased individual again: discreet readmit VAULT --unit {quoted(name)}",
        )
