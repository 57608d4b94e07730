"""The files of one addition: a preview before anything is written, then their documents."""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from discreet.errors import BadData
from discreet.reading.fields import is_empty
from discreet.reading.files import Found, find_files, is_table, read_records
from discreet.reading.identity import Fields, Read, Reader
from discreet.reading.records import BadRecord, FoundFile, ReadingOptions, Record, kind_of
from discreet.reading.sandbox import Sandbox
from discreet.reading.tables import detect_dialect, suggestion
from discreet.reading.units import FileUnits, UnitRules, WrongLabel, sidecar
from discreet.retrieval.documents import Document
from discreet.system.plain import to_plain
from discreet.system.progress import Advance, stage

_NEARLY_ALL, _SOME = 0.95, 20
_FEW, _MANY = 20, 100
_EXAMPLES = 5


@dataclass(frozen=True)
class Preview:
    """The preview of an addition. For the custodian only, because it shows names.

    Attributes:
        unit_field: the field that names the unit.
        files: the number of files that can be read.
        records: the number of documents in them.
        units: the number of units of these documents: private.
        largest: the number of documents of the largest unit.
        largest_unit: the name of the largest unit: private.
        single: the number of units with one document.
        examples: the names of some units: private.
        repeated: the number of records that repeat one of the same unit in the same file; they are kept.
        own_unit: the number of records without a unit, which become units.
        refused: the records that cannot be added, with position and reason.
        formats: the dialect of each table of text, as detected or given.
        doubts: likely mistakes.
        notes: further notes.
    """

    unit_field: str
    files: int
    records: int
    units: int
    largest: int
    largest_unit: str
    single: int
    examples: tuple[str, ...]
    repeated: int
    own_unit: int
    refused: tuple[BadRecord, ...]
    formats: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The counts in one line."""
        noun = self.unit_field.removesuffix("_id")
        if not noun.isalpha() or noun.endswith(("s", "y")):
            noun = "unit"
        parts = [f"{counted(self.records, 'record')} of {counted(self.units, noun)}"]
        if self.units:
            parts.append(f"largest {counted(self.largest, 'document')}")
            parts.append(f"{counted(self.single, noun)} with one document")
        if self.repeated:
            parts.append(f"{self.repeated:,} repeated")
        parts.append(f"{len(self.refused):,} refused")
        return "; ".join(parts)

    def describe(self) -> dict[str, Any]:
        """Return the preview as plain data."""
        return to_plain(self)


def unit_figures(units: Counter[str]) -> dict[str, Any]:
    """Return the attributes of a preview that depend on the number of documents of each unit."""
    top = units.most_common(1)
    return {
        "records": units.total(),
        "units": len(units),
        "largest": top[0][1] if top else 0,
        "largest_unit": top[0][0] if top else "",
        "single": sum(count == 1 for count in units.values()),
        "examples": tuple(list(units)[:_EXAMPLES]),
    }


def doubts_about(named: Counter[str], field: str) -> list[str]:
    """Return likely mistakes, from the number of documents of each unit.

    Args:
        named: the number of documents of each unit that a field, a pattern or a manifest names.
        field: the unit field.
    """
    records, units = named.total(), len(named)
    if records >= _SOME and units >= _NEARLY_ALL * records:
        return [
            f"Nearly every record has another '{field}': {units:,} units in {records:,} records. If several records "
            "belong to one individual, this field is wrong, and the individual is not protected."
        ]
    if records >= _MANY and units < _FEW:
        return [
            f"'{field}' has {counted(units, 'value')} in {records:,} records. If it names groups instead of "
            "individuals, such as wards, the vault can answer hardly any question."
        ]
    return []


def grouped(refused: Sequence[BadRecord]) -> list[str]:
    """Return the reasons for refused records, the most frequent first, each with its first record."""
    found: dict[str, list[str]] = {}
    for bad in refused:
        found.setdefault(bad.reason, []).append(bad.where)
    return [
        f"{where[0]}: {reason}" if len(where) == 1 else f"{len(where):,} records: {reason} (first: {where[0]})"
        for reason, where in sorted(found.items(), key=lambda item: -len(item[1]))
    ]


def counted(number: int, what: str) -> str:
    """Return a number with its noun, in the plural if the number is not 1."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


_SHOWN = 50
_MOST_FORMATS = 20
Alike = Callable[[Iterable[str]], Iterable[str]]
"""Returns likely mistakes in the names of units, such as two spellings of one individual."""


def no_doubts(_: Iterable[str]) -> Iterable[str]:
    """Return no doubts about names."""
    return ()


@dataclass
class _Presence:
    """The number of records of a table that have each field."""

    records: int = 0
    fields: Counter[str] = field(default_factory=Counter)

    def see(self, values: Mapping[str, object]) -> None:
        self.records += 1
        self.fields.update(name for name, value in values.items() if not is_empty(value))


def _ignore_progress(_count: int) -> None:
    """Drop a report of progress."""


class Intake:
    """The files of one addition to a vault.

    Args:
        paths: files and folders, or files of an earlier search, such as the standard input (`stdin`).
        fields: the names of the records' fields.
        options: the reading options.
        rules: the rules that give units to files and records.
        vault_unit: the vault's unit field.
        alike: returns likely mistakes in the names of units.

    Raises:
        UsageError, BadData: if a path does not exist, if a library is missing, or if a pattern or a manifest cannot be
            used.
    """

    def __init__(
        self,
        paths: Sequence[Path | FoundFile],
        fields: Fields,
        options: ReadingOptions,
        rules: UnitRules,
        vault_unit: str,
        alike: Alike = no_doubts,
    ) -> None:
        self._fields, self._rules, self._vault_unit, self._alike = fields, rules, vault_unit, alike
        columns = (fields.unit, fields.id, *fields.declared, *fields.more)
        self._options = replace(options, text_field=fields.text, needed=frozenset(columns))
        named = [path for path in paths if not isinstance(path, FoundFile)]
        found = find_files(named) if named else Found((), ())
        every = (*found.files, *(path for path in paths if isinstance(path, FoundFile)))
        read_records(every, self._options)  # raises at once if a library is missing, and reads nothing yet
        texts = [file for file in every if not is_table(file.path)]
        beside = {path: file.source for file in texts if (path := sidecar(file.path))}
        self._unread = found.unread
        self._tables = [file for file in every if is_table(file.path) and file.path not in beside]
        self._texts = {file.source: file for file in texts}
        self._units = FileUnits(rules, texts, fields.unit, options)

    @property
    def files(self) -> tuple[FoundFile, ...]:
        """All files that can be read, without sidecars of other files."""
        return (*self._tables, *self._texts.values())

    @cached_property
    def preview(self) -> Preview:
        """The preview of the addition. It reads every table; of other files, it reads only the names of units.

        Raises:
            UsageError, BadData: if units are not named, or if a field is missing. Nothing was written.
        """
        units, named = Counter[str](), Counter[str]()
        own = repeated = 0
        refused, notes = list[BadRecord](), list[str]()
        with self._stage() as (file_done, record_done):
            for one in self.read(notes, file_done):
                record_done(1)
                if isinstance(one, BadRecord):
                    refused.append(one)
                    continue
                units[one.document.unit] += 1
                named[one.document.unit] += not one.document.own_unit
                own += one.document.own_unit
                repeated += one.repeated
        return Preview(
            unit_field=self._fields.unit,
            files=len(self.files),
            **unit_figures(units),
            repeated=repeated,
            own_unit=own,
            refused=tuple(refused),
            formats=tuple(self._formats()),
            doubts=tuple(self._doubts(+named)),
            notes=(*notes, *self._notes(own)),
        )

    @contextmanager
    def _stage(self) -> Iterator[tuple[Advance, Advance]]:
        """Yield the receivers of progress by file and by record. Only a single file is counted by records."""
        many = len(self.files) > 1
        name = "Checking the files" if many else "Checking the records of the file"
        with stage(name, len(self.files) if many else None) as done:
            yield (done, _ignore_progress) if many else (_ignore_progress, done)

    def documents(self) -> Iterator[Read | BadRecord]:
        """Return the documents, and the records that cannot be added.

        Raises:
            UsageError, BadData: see `preview`, which runs first.
        """
        _ = self.preview
        return self.read()

    def read(self, notes: list[str] | None = None, done: Advance = _ignore_progress) -> Iterator[Read | BadRecord]:
        """Yield all documents and refused records, and report each finished file to `done`.

        With `notes`, read only the parts that the preview needs, and check the fields.
        """
        yield from self._unread
        yield from self._units.absent
        labelled = 0
        with Sandbox() as sandbox:  # one for all files: starting a process takes longer than reading a file
            for file in self._tables:
                yield from self._table(file, notes, sandbox)
                done(1)
            for one in self._files(sandbox, whole=notes is None):
                labelled += isinstance(one, Read)
                yield one
                done(1)
        if notes is not None:
            self._units.check(labelled)

    def _table(self, file: FoundFile, notes: list[str] | None, sandbox: Sandbox) -> Iterator[Read | BadRecord]:
        reader = Reader(self._fields, own_units=self._rules.each_record)
        presence = _Presence()
        for record in read_records([file], self._options, sandbox):
            if isinstance(record, BadRecord):
                yield record
                continue
            presence.see(record.values)
            yield reader.read(record)
        if notes is not None and presence.records:
            notes += self._check(file, presence)

    def _files(self, sandbox: Sandbox, *, whole: bool) -> Iterator[Read | BadRecord]:
        reader = Reader(self._fields, own_units=self._rules.each_file)
        now = [file for file in self._texts.values() if whole or _is_plain(file)]
        later = [] if whole else [file for file in self._texts.values() if not _is_plain(file)]
        unread = (Record({"text": "not read yet"}, file.source, file.source, whole=True) for file in later)
        for record in chain(read_records(now, self._options, sandbox), unread):
            if isinstance(record, BadRecord):
                yield record
                continue
            try:
                path = self._texts[record.source].path
                yield reader.read(replace(record, values=self._units.values(record, path)))
            except WrongLabel as error:
                yield BadRecord(record.where, str(error))

    def _check(self, file: FoundFile, presence: _Presence) -> list[str]:
        """Return notes on a table's fields.

        Raises:
            BadData: if no record has a unit, a text, or the given field for ids.
        """
        fields, has = self._fields, presence.fields
        texts = ((name, "--text-field") for name in (fields.text, *fields.more))
        for name, option in (*texts, (fields.unit, "--unit-field"), (fields.id, "--id-field")):
            wanted = option == "--text-field" or (
                not self._rules.each_record if option == "--unit-field" else name != Fields.id
            )
            if wanted and not has[name]:
                raise BadData(self._missing(file, name, option))
        return [
            f"No record of {file.source} has the declared field '{name}'." for name in fields.declared if not has[name]
        ]

    def _missing(self, file: FoundFile, name: str, option: str) -> str:
        """Return the reason to refuse a table, with its columns."""
        columns = self._columns(file)
        guess = f" {suggestion(name, columns, option)}"
        parts = [f"No record of {file.source} has the field '{name}'"]
        if option == "--unit-field":
            vaults = "the vault's unit field" if name == self._vault_unit else f"not the vault's '{self._vault_unit}'"
            parts.append(f" ({vaults})")
            guess += " If each record belongs to another individual: --each-record-a-unit."
        has = f" Its fields: {', '.join(columns)}." if columns else ""
        return f"{''.join(parts)}.{has}{guess} Nothing was added."

    def _columns(self, file: FoundFile) -> list[str]:
        names: dict[str, None] = {}
        every = replace(self._options, needed=None)
        for number, record in enumerate(read_records([file], every)):
            if number == 1000:
                break
            if isinstance(record, Record):
                names |= dict.fromkeys(str(name) for name in record.values)
        return list(names)[:_SHOWN]

    def _doubts(self, named: Counter[str]) -> Iterator[str]:
        """Yield likely mistakes in the names of units."""
        if self._fields.unit != self._vault_unit and self._tables:
            yield (
                f"'{self._fields.unit}' is not the vault's unit field '{self._vault_unit}'. An individual must have "
                "the same name in both fields. Otherwise it counts as two individuals."
            )
        yield from doubts_about(named, self._fields.unit)
        yield from self._alike(named)
        pattern = self._units.pattern
        ambiguous = [source for source in self._texts if pattern and pattern.ambiguous(source)]
        if pattern and ambiguous:
            taken, other = pattern.ambiguous(ambiguous[0]) or ("", "")
            yield (
                f"The pattern '{pattern.text}' matches {counted(len(ambiguous), 'file')} in two ways. The unit of "
                f"'{ambiguous[0]}' becomes '{taken}', but could be '{other}'. Use [0-9] or ???? instead of *."
            )

    def _formats(self) -> Iterator[str]:
        """Yield the dialect of each table of text, as detected or given."""
        written = [file for file in self._tables if kind_of(file.path) in ("csv", "tsv")]
        for file in written[:_MOST_FORMATS]:
            try:
                dialect = detect_dialect(file, self._options)
            except (OSError, EOFError, UnicodeError, zlib.error):
                continue  # the file is reported among those that cannot be read
            mark = {"\t": "a tab", " ": "a space"}.get(dialect.delimiter, f"'{dialect.delimiter}'")
            yield f"{file.source}: encoding {dialect.encoding}, columns separated by {mark}"

    def _notes(self, own: int) -> Iterator[str]:
        later = sum(not _is_plain(file) for file in self._texts.values())
        if later:
            yield f"The text of {counted(later, 'file')} is read during the addition, which reports unreadable parts."
        if own:
            option = "--each-record-a-unit" if self._rules.each_record else "--each-file-a-unit"
            yield (
                f"{counted(own, 'document')} without '{self._fields.unit}': each becomes a unit ({option}). If several "
                "belong to one individual, this individual has less protection than a receipt states."
            )


def read_documents(path: Path, fields: Fields | None = None) -> Iterator[Document | BadRecord]:
    """Yield the documents of a file or folder, for experiments. Records and files without a unit become units.

    Raises:
        UsageError, BadData: if there is nothing to read.
    """
    fields = fields or Fields()
    rules = UnitRules(each_file=True, each_record=True)
    intake = Intake([path], fields, ReadingOptions(), rules, fields.unit)
    return (one if isinstance(one, BadRecord) else one.document for one in intake.read())


def _is_plain(file: FoundFile) -> bool:
    """Return whether the preview reads a file, because its front matter may name its unit."""
    return kind_of(file.path) in ("txt", "md")
