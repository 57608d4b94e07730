"""The part of a vault that adds and erases documents, and what it finds in files before."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict, Unpack

from discreet.errors import UsageError
from discreet.files.fields import Read
from discreet.files.intake import Intake, Known, RecordJudge
from discreet.files.records import BadRecord, FoundFile, ReadingOptions
from discreet.files.units import UnitRules
from discreet.planning.prices import no_longer_empty
from discreet.store.documents import Document, canonical_unit
from discreet.store.indexer import Fate, Indexer
from discreet.store.registry import stored_dimension
from discreet.system.databases import taking_turns
from discreet.system.progress import stage
from discreet.vault.components import Added, VaultParts

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
        encoding: the encoding of texts, tables, pages and mails; by default detected for each file.
        delimiter: the delimiter of the columns of a table; by default detected for each file.
        header_row: the line of a table, or the row of each sheet, with the names of the columns; default 1.
        date_format: the form of dates, such as %d/%m/%Y; by default all forms with one meaning.
        drop_bad_fields: whether a declared field with a wrong value is left out, and not its record.
        without_quotes: whether the words of others that a mail quotes are left out.
        ocr: whether pages of a PDF without text are read as pictures.
    """

    text_field: str | Sequence[str]
    unit_field: str | None
    id_field: str
    units: UnitRules
    encoding: str | None
    delimiter: str | None
    header_row: int
    date_format: str
    drop_bad_fields: bool
    without_quotes: bool
    ocr: bool


def _index(
    indexer: Indexer,
    judge: RecordJudge,
    admitted: Iterable[tuple[Document, Fate]],
    told: Progress,
    begin: Callable[[], int] | None = None,
) -> Added:
    """Add what a judge admits. Report what it refuses."""
    counts = indexer.index_admitted(admitted, progress=lambda count: told("documents", count), begin=begin)
    return Added(
        counts.fates[Fate.ADDED],
        counts.fates[Fate.REPLACED],
        counts.fates[Fate.UNCHANGED],
        judge.own_unit,
        tuple(judge.left[BadRecord]),
        tuple(judge.conflicts),
        judge.repeated,
        buried=judge.fates[Fate.BURIED],
        batch=counts.batch,
        **judge.reported(),
    )


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
        given: dict[str, Any] = {**how}
        named, rules = given.pop("text_field", "text"), given.pop("units", UnitRules())
        text, *more = dict.fromkeys([named] if isinstance(named, str) else named)
        unit_field = given.pop("unit_field", None) or self.settings.unit_field
        options = ReadingOptions(text, tuple(more), unit_field, declared=self.settings.fields, **given)
        files = [path if isinstance(path, FoundFile) else Path(path) for path in paths]
        # A vault without documents has no store, and making one would load an embedder.
        filled = stored_dimension(self.settings, self.path / "store") is not None
        return Intake(files, options, rules, self.settings.unit_field, Known(self.store if filled else None))

    def take_in(self, intake: Intake, progress: Progress | None = None, ray: str | None = None) -> Added:
        """Add the documents that `intake` found; embedded by the Ray cluster at an address, if one is named."""
        records = intake.preview.records  # a preview refuses bad files before the embedder is loaded
        with (
            self.components.indexer_on(ray) as indexer,
            reported("Reading and embedding documents", progress, records) as told,
        ):

            def add() -> Added:
                judge = RecordJudge(Known(self.store))
                with self.components.unfinished.addition(self.store, intake.files) as begin:
                    return _index(indexer, judge, intake.documents(judge), told, begin)

            return self._added(add)

    def add_documents(self, documents: Iterable[Document], progress: Progress | None = None) -> Added:
        """Add documents from a program."""
        read = (Read(document, f"the document '{document.id}'") for document in documents)
        with reported("Embedding documents", progress) as told:

            def add() -> Added:
                judge = RecordJudge(Known(self.store))
                return _index(self.components.indexer, judge, judge.admit(read), told)

            return self._added(add)

    def _added(self, add: Callable[[], Added]) -> Added:
        added = self.components.traces.adding(add)
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
