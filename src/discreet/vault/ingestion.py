"""Documents on their way into a vault."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

from discreet.config import VaultConfig
from discreet.reading.files import FoundFile, ReadingOptions
from discreet.reading.identity import Fields
from discreet.reading.intake import Intake
from discreet.reading.records import BadRecord
from discreet.reading.units import UnitRules
from discreet.retrieval.documents import Document
from discreet.retrieval.sealed_corpus import Counts, SealedCorpus
from discreet.retrieval.store import Store

_NAMELESS = (
    "has no unit, and its id is in the vault as that of a document that has one: that stays as it was. Name the unit, "
    "or remove that document first"
)
_TAKEN = (
    "its id is in the vault as that of a document about another individual, which stays as it was. Give this one an "
    "id of its own; or, if it is the same document, remove that first"
)
_CONFLICT = "the same id as a record before it, with another text or unit; the first was kept"
Progress = Callable[[str, int], None]
"""Told (what is done, how many more are done): for a progress bar."""


class How(TypedDict, total=False):
    """How files become documents. Everything may be left out.

    Attributes:
        text_field: the field of a record with its text: "text".
        unit_field: the field that names the individual: the vault's.
        id_field: the field with the document's id: "id". A record without one is named by its unit and its text.
        units: how files, and records without a unit, get theirs: they are refused.
        encoding: of files of text and of tables: detected for each file.
        delimiter: between the columns of a table: detected for each file.
    """

    text_field: str
    unit_field: str | None
    id_field: str
    units: UnitRules
    encoding: str | None
    delimiter: str | None


@dataclass(frozen=True)
class Added:
    """What `add` did.

    Attributes:
        added, replaced, unchanged: counts of documents.
        own_unit: how many carried no unit and so became a unit of their own.
        bad: what was not added, by place and reason: it could not be read, or its id is another document's.
        conflicts: the ids that came twice with different content (they are in `bad`, too); the first was kept.
        repeated: how many repeat a record of the same unit in the same file; they are kept.
        buried: how many documents are about individuals that were erased and are not to come back. Each of these
            individuals is in `bad`, by name.
        batch: the number of the batch that holds what was added (for `discreet undo`); 0 if nothing was.
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


class _Places:
    """Where documents were read, for messages about those that a store refuses."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}
        self._again: dict[str, list[str]] = {}

    def see(self, name: str, where: str) -> None:
        if self._places.setdefault(name, where) != where:
            self._again.setdefault(name, []).append(where)

    def of(self, name: str) -> str:
        return self._places.get(name, f"the document '{name}'")

    def again(self, name: str) -> str:
        """The next of the later places of an id."""
        later = self._again.get(name)
        return later.pop(0) if later else self.of(name)


def open_intake(paths: Sequence[str | Path | FoundFile], how: How, settings: VaultConfig) -> Intake:
    """Find the files of an addition to the vault with these settings.

    Raises:
        UsageError, BadData: a path is not there, or what names the units cannot be used.
    """
    unit_field = how.get("unit_field") or settings.unit_field
    fields = Fields(how.get("text_field", "text"), unit_field, how.get("id_field", "id"), settings.fields)
    options = ReadingOptions(fields.text, how.get("encoding"), how.get("delimiter"))
    files = [path if isinstance(path, FoundFile) else Path(path) for path in paths]
    return Intake(files, fields, options, how.get("units", UnitRules()), settings.unit_field)


def add_files(corpus: SealedCorpus, store: Store, intake: Intake, progress: Progress | None) -> Added:
    """Add the documents of files. What cannot be read is reported, and the rest is added.

    Raises:
        UsageError, BadData: units are not named, or a field is missing. Nothing was written.
    """
    bad: list[BadRecord] = []
    places, repeated = _Places(), 0
    records = intake.documents(lambda name: store.units([name]).get(name, ""))

    def good() -> Iterator[Document]:
        nonlocal repeated
        for one in records:
            if isinstance(one, BadRecord):
                bad.append(one)
                continue
            repeated += one.repeated
            places.see(one.document.id, one.where)
            yield one.document

    found = _add(corpus, good(), places, progress, len(intake.files))
    return replace(found, bad=(*bad, *found.bad), repeated=repeated)


def add_documents(corpus: SealedCorpus, documents: Iterable[Document], progress: Progress | None) -> Added:
    """Add documents from a program."""
    return _add(corpus, documents, _Places(), progress)


def _add(
    corpus: SealedCorpus, documents: Iterable[Document], places: _Places, progress: Progress | None, files: int = 0
) -> Added:
    own_unit = 0

    def counted() -> Iterator[Document]:
        nonlocal own_unit
        for document in documents:
            own_unit += document.own_unit
            yield document

    done = None if progress is None else lambda count: progress("documents", count)
    counts = corpus.index(counted(), progress=done, files=files)
    return Added(
        counts.added,
        counts.replaced,
        counts.unchanged,
        own_unit,
        tuple(_left_out(counts, places)),
        tuple(counts.conflicts),
        buried=counts.buried.total(),
        batch=counts.batch,
    )


def _left_out(counts: Counts, places: _Places) -> Iterator[BadRecord]:
    for names, reason in ((counts.nameless, _NAMELESS), (counts.taken, _TAKEN)):
        for name in names:
            yield BadRecord(places.of(name), reason)
    for name in counts.conflicts:
        yield BadRecord(places.again(name), _CONFLICT)
    for (name, time), number in counts.buried.items():
        yield BadRecord(
            f"the individual '{name}'",
            f"was erased on {time[:10]}, and {number} of its documents came again. To let it come back: discreet "
            f"readmit VAULT --unit '{name}'",
        )
