"""The part of a vault that adds and erases documents, and what it finds in files before."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypedDict, Unpack

from discreet.config import VaultConfig
from discreet.errors import UsageError
from discreet.planning.prices import no_longer_empty
from discreet.reading.identity import Fields
from discreet.reading.intake import Alike, Intake, no_doubts
from discreet.reading.records import BadRecord, FoundFile, PartLeftOut, ReadingOptions
from discreet.reading.units import UnitRules
from discreet.retrieval.documents import Document, canonical_unit
from discreet.retrieval.indexer import Counts, Indexer
from discreet.retrieval.store import Store
from discreet.retrieval.store_registry import stored_dimension
from discreet.system.progress import stage
from discreet.system.sharing import taking_turns
from discreet.system.words import quoted
from discreet.vault.components import Added, VaultParts

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


_SHOWN = 3
_COMPARED = 10_000
"""So many names are compared with as many stored ones: that takes some tenths of a second."""
_BETWEEN = (" ", "_", "-", ".")
_MARKS = re.compile(r"[\W_]+")


def find_alike_names(names: Iterable[str], store: Store | None) -> Iterator[str]:
    """Yield likely mistakes: a name that looks like another one, like a stored one, or like that of an erased unit.

    Args:
        names: the names of the units that are about to be added.
        store: the documents; None if nothing was ever added.
    """
    own = list(islice(dict.fromkeys(map(canonical_unit, names)), _COMPARED))
    pairs = [(name, other, "") for name, other in _alike(own, own)]
    if store is not None:
        stored = {entry.unit for entry in store.catalog.list_units(_COMPARED)} if store.catalog else set()
        new = [name for name in own if name not in stored]
        pairs += [(name, other, ", which is in the vault") for name, other in _alike(new, sorted(stored))]
        pairs += [(name, other, ", which was erased") for name, other in _erased(new, store)]
    if not pairs:
        return
    shown = [f"'{name}' looks like '{other}'{where}" for name, other, where in pairs[:_SHOWN]]
    more = f"; and {len(pairs) - _SHOWN:,} more" if len(pairs) > _SHOWN else ""
    yield (
        f"{'; '.join(shown)}{more}. Two spellings of one individual count as two individuals, with two budgets, and "
        "the erasure of one leaves the other. Give both the same name in the unit field, the pattern or the manifest."
    )


def _alike(names: Iterable[str], others: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the names that equal the first of `others` up to marks between words, each with that one."""
    first: dict[str, str] = {}
    for other in others:
        first.setdefault(_without_marks(other), other)
    for name in names:
        bare = _without_marks(name)
        if bare and first.get(bare, name) != name and not bare.isdigit():
            yield name, first[bare]


def _erased(names: Iterable[str], store: Store) -> Iterator[tuple[str, str]]:
    """Yield the names of which another spelling was erased. Some are tried, since only digests of them are kept."""
    tried = {other: name for name in names for other in _spellings(name) if other != name}
    for other in sorted(store.buried(tried)):
        yield tried[other], other


def _spellings(name: str) -> Iterator[str]:
    if _MARKS.search(name) and not _without_marks(name).isdigit():
        yield from (canonical_unit(_MARKS.sub(mark, name)) for mark in _BETWEEN)


def _without_marks(name: str) -> str:
    """Return a canonical name with a space for each mark. Accents stay: among many people, they tell two apart."""
    return _MARKS.sub(" ", name).strip()


@taking_turns()
class VaultDocuments(VaultParts):
    """A vault to which documents are added, and from which they are erased. One thread at a time is inside."""

    def add(
        self, *paths: str | Path, progress: Progress | None = None, ray: str | None = None, **how: Unpack[How]
    ) -> Added:
        """Read documents from files and folders. Add new documents, and replace changed ones.

        All files are checked before any document is written. An unreadable record is reported, and the other records
        are added. An interrupted call can be repeated.

        Args:
            paths: files and folders.
            progress: receives the number of documents that are done.
            ray: the address of a Ray cluster that embeds the documents: host:port, or "local".
            how: the fields of records, the units of files, and the format of files: see `How`.

        Raises:
            UsageError, BadData: if a path does not exist, units are not named, or no record has a field.
            StoreError: if the store cannot be written (a full disk). Documents that were added stay.
        """
        return self.take_in(self.intake(*paths, **how), progress, ray)

    def intake(self, *paths: str | Path | FoundFile, **how: Unpack[How]) -> Intake:
        """Find the documents that `add` would add. `.preview` counts them. Load no model. Raise errors as `add`."""
        return open_intake(paths, how, self.settings, self._find_alike_names)

    def _find_alike_names(self, names: Iterable[str]) -> Iterable[str]:
        # A vault without documents has no store, and making one would load an embedder.
        filled = stored_dimension(self.settings, self.path / "store") is not None
        return find_alike_names(names, self.store if filled else None)

    def take_in(self, intake: Intake, progress: Progress | None = None, ray: str | None = None) -> Added:
        """Add the documents that `intake` found; embedded by the Ray cluster at an address, if one is named."""
        _ = intake.preview  # it refuses bad files before the embedder is loaded
        with (
            self.components.indexer_on(ray) as indexer,
            reported("Reading and embedding documents", progress, intake.preview.records) as told,
        ):
            added = self.components.traces.adding(lambda: add_files(indexer, self.store, intake, told))
        no_longer_empty(self.path)
        return added

    def add_documents(self, documents: Iterable[Document], progress: Progress | None = None) -> Added:
        """Add documents from a program."""
        with reported("Embedding documents", progress) as told:
            added = self.components.traces.adding(lambda: add_documents(self.components.indexer, documents, told))
        no_longer_empty(self.path)
        return added

    def remove(self, document_id: str) -> int:
        """Erase a document; no later answer uses it. Return the number of erased documents: 0 or 1."""
        with self.components.traces.erasing():
            return self.store.remove(document_id)

    def remove_unit(self, unit: str) -> int:
        """Erase an individual's documents; refuse later ones until `inventory.readmit`. Return the number erased."""
        return self.inventory.bury(unit)

    def join_units(self, unit: str, into: str) -> int:
        """Make two units one, for good: one person had two names. Return the number of documents that moved.

        The documents of `unit` are found under `into` from then on. What both spent is added up, and counts for `into`.
        Later documents of `unit` are refused.

        Raises:
            UsageError: if both names are one, or if `into` has no document.
        """
        unit, into = canonical_unit(unit), canonical_unit(into)
        if unit in ("", into):
            raise UsageError("Name two individuals: the name that goes, and then the one that stays.")
        if not self.inventory.documents(into, 1):
            raise UsageError(f"The vault has no document of the individual '{into}'. Name one who stays in the vault.")
        with self.components.traces.erasing():
            return self.store.join(unit, into, lambda: self.components.move_payments(unit, into))
