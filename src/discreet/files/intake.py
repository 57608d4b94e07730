"""The files of one addition: a preview before anything is written, then their documents.

A preview is the addition without writing: the same `RecordJudge` says what becomes of each document.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from discreet.errors import BadData
from discreet.files.fields import Read, Reader, is_empty, read_date, value_of
from discreet.files.loaders import check_readable, find_files, is_table, read_file, read_records
from discreet.files.records import (
    BadRecord,
    Erased,
    FoundFile,
    NoText,
    PartLeftOut,
    ReadingOptions,
    Record,
    Unreadable,
    kind_of,
)
from discreet.files.sandbox import Sandbox
from discreet.files.tables import is_usual, suggestion
from discreet.files.units import FileUnits, UnitRules, sidecar
from discreet.store.documents import Document, canonical_unit
from discreet.store.indexer import Admission, Fate
from discreet.store.protocol import Store
from discreet.system.plain import to_plain
from discreet.system.progress import Advance, ignore_progress, stage
from discreet.system.words import counted, quoted

_NEARLY_ALL, _SOME = 0.95, 20
_FEW, _MANY = 20, 100
_EXAMPLES, _EXAMPLES_OF_NAMES = 5, 3


@dataclass(frozen=True)
class Preview:
    """The preview of an addition. For the custodian only, because it shows names.

    Attributes:
        unit_field: the field that names the unit.
        files: the number of files that can be read.
        records: the number of documents in them that will be in the vault.
        units: the number of units of these documents: private.
        largest: the number of documents of the largest unit.
        largest_unit: the name of the largest unit: private.
        single: the number of units with one document.
        examples: the names of some units: private.
        repeated: the number of records that repeat one of the same unit in the same file; they are kept.
        own_unit: the number of records without a unit, which become units.
        new, replaced, unchanged: the numbers of these documents that are new, that replace one, and that are stored.
        known: the number of these units that are in the vault already: private.
        refused: the records that cannot be added, with position and reason.
        erased: erased individuals whose documents come again, and are refused: private.
        empty: the records without a text.
        in_part: the parts of files that will be left out, such as attachments.
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
    new: int
    replaced: int
    unchanged: int
    known: int
    refused: tuple[BadRecord, ...] = ()
    erased: tuple[BadRecord, ...] = ()
    empty: tuple[BadRecord, ...] = ()
    in_part: tuple[BadRecord, ...] = ()
    formats: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The counts in one line."""
        noun = self._noun
        parts = [f"{counted(self.records, 'record')} of {counted(self.units, noun)}"]
        if self.units:
            parts.append(f"largest {counted(self.largest, 'document')}")
            parts.append(f"{counted(self.single, noun)} with one document")
        if self.repeated:
            parts.append(f"{self.repeated:,} repeated")
        parts.append(f"{len(self.refused):,} refused")
        return "; ".join(parts)

    @property
    def fresh(self) -> str:
        """What the addition changes, in one line."""
        return (
            f"{self.new:,} new, {self.replaced:,} replaced, {self.unchanged:,} unchanged; in the vault already: "
            f"{self.known:,} of {counted(self.units, self._noun)}"
        )

    @property
    def _noun(self) -> str:
        noun = self.unit_field.removesuffix("_id")
        return (
            noun if noun.isalpha() and noun.islower() and not noun.endswith(("s", "y")) and noun != "from" else "unit"
        )

    def describe(self) -> dict[str, Any]:
        """Return the preview as plain data."""
        return to_plain(self)


def doubts_about(named: Counter[str], field: str) -> list[str]:
    """Return likely mistakes, from the number of documents of each unit.

    Args:
        named: the number of documents of each unit that a field, a pattern or a manifest names.
        field: the unit field.
    """
    records, units = named.total(), len(named)
    if records >= _SOME and units >= _NEARLY_ALL * records and (what := _no_individuals(named)):
        return [
            f"'{field}' has {what}: {units:,} units in {records:,} records. If several records belong to one "
            "individual, this field is wrong, and the individual is not protected."
        ]
    if records >= _MANY and units < _FEW:
        return [
            f"'{field}' has {counted(units, 'value')} in {records:,} records. If it names groups instead of "
            "individuals, such as wards, the vault can answer hardly any question."
        ]
    return []


def _no_individuals(names: Iterable[str]) -> str:
    """Return what the names are that name no individuals: dates, or the numbers of rows."""
    some = list(islice(names, 1000))
    if all(map(read_date, some)):
        return "dates"
    numbers = [int(name) for name in some if name.isdecimal() and len(name) < 16]
    running = len(numbers) == len(some) and max(numbers) - min(numbers) < len(some) / _NEARLY_ALL
    return "numbers one after the other, such as those of rows" if running else ""


def grouped(refused: Sequence[BadRecord]) -> list[str]:
    """Return the reasons for refused records, the most frequent first, each with its first record."""
    groups: dict[str, list[str]] = {}
    for bad in refused:
        groups.setdefault(bad.reason, []).append(bad.where)
    return [
        f"{where[0]}: {reason}" if len(where) == 1 else f"{len(where):,} records: {reason} (first: {where[0]})"
        for reason, where in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]


_REASONS = {
    Fate.NAMELESS: "has no unit, but the stored document with its id has one. The stored document was kept. Name "
    "its unit (of a record: the unit field; of a file: --units or --unit-from), or remove the stored document first",
    Fate.TAKEN: "the stored document with its id is about another individual. The stored document was kept. Give this "
    "document an id of its own; if both are one document, remove the stored document first",
    Fate.CONFLICT: "the same id as a record before it, with another text or unit; the first was kept. If the field "
    "names no single record: --id-field ''",
}
_AT_ONCE = 256


class RecordJudge:
    """What becomes of the records of one addition, before anything is written.

    Args:
        known: what is in the vault.

    Attributes:
        units, named: the number of admitted documents of each unit, and of each unit that is named.
        fates: the number of documents by what becomes of them.
        left: what is left out, by its kind.
        conflicts: the ids that came twice with different content.
        own_unit: the number of admitted documents without a unit, which become units.
        repeated: the number of admitted records that repeat one of the same unit in the same file.
        beside: the number of new documents without an id of individuals who are in the vault: perhaps corrected.
        dropped: the number of documents without a declared field, as its value has another type, by field.
    """

    def __init__(self, known: "Known") -> None:
        self._known, self._admission = known, Admission(known.store)
        self.units, self.named, self.dropped = Counter[str](), Counter[str](), Counter[str]()
        self.fates = Counter[Fate]()
        self.left, self.conflicts = defaultdict[type[BadRecord], list[BadRecord]](list), list[str]()
        self.own_unit = self.repeated = self.beside = 0

    def admit(self, found: Iterable[Read | BadRecord]) -> Iterator[tuple[Document, Fate]]:
        """Yield the documents that are added, or are stored already. Count them, and keep what is left out."""
        rest, buried = iter(found), Counter[str]()
        while group := list(islice(rest, _AT_ONCE)):
            fates = iter(self._admission.fates([one.document for one in group if isinstance(one, Read)]))
            for one in group:
                if isinstance(one, BadRecord):
                    self.left[type(one)].append(one)
                    continue
                fate, document = next(fates), one.document
                self.fates[fate] += 1
                if fate is Fate.BURIED:
                    buried[document.unit] += 1
                elif fate in _REASONS:
                    self.conflicts += [document.id] * (fate is Fate.CONFLICT)
                    self.left[BadRecord].append(BadRecord(one.where, _REASONS[fate]))
                else:
                    self._count(one, fate)
                    yield document, fate
        self.left[Erased] += (
            Erased(
                f"the individual '{name}'",
                f"was erased on {self._admission.buried[name][:10]} (or joined to another name), and {number} of its "
                "documents came again. They were refused. To accept an erased individual again: discreet readmit VAULT "
                f"--unit {quoted(name)}",
            )
            for name, number in buried.items()
        )

    def _count(self, one: Read, fate: Fate) -> None:
        unit, own = one.document.unit, one.document.own_unit
        self.units[unit] += 1
        self.named[unit] += not own
        self.own_unit += own
        self.repeated += one.repeated
        self.dropped.update(one.dropped)
        self.beside += fate is Fate.ADDED and one.nameless and unit in self._known.units

    def reported(self) -> dict[str, tuple[BadRecord, ...]]:
        """Return what is left out by the names under which an addition reports it, beside what is refused."""
        refused = {one.where for one in self.left[BadRecord]}
        in_part = tuple(one for one in self.left[PartLeftOut] if one.where not in refused)
        return {"erased": tuple(self.left[Erased]), "empty": tuple(self.left[NoText]), "in_part": in_part}


class Known:
    """The documents of a vault, as an addition finds them.

    Args:
        store: the store; None if nothing was ever added.
    """

    def __init__(self, store: Store | None = None) -> None:
        self.store = store

    @cached_property
    def units(self) -> set[str]:
        """The names of the units that are in the vault."""
        catalog = self.store.catalog if self.store else None
        return {entry.unit for entry in catalog.list_units()} if catalog else set()

    def doubts(self, names: Iterable[str]) -> Iterator[str]:
        """Yield likely mistakes: a name that looks like another one, like a stored one, or like that of an erased unit.

        Args:
            names: the names of the units that are about to be added.
        """
        own = list(dict.fromkeys(map(canonical_unit, names)))
        new = [name for name in own if name not in self.units]
        pairs = [(name, other, "") for name, other in _alike(own, own)]
        pairs += [(name, other, ", which is in the vault") for name, other in _alike(new, sorted(self.units))]
        if self.store is not None:
            erased = _erased(islice(new, _TRIED), self.store)
            pairs += [(name, other, ", which was erased") for name, other in erased]
        if not pairs:
            return
        shown = [f"'{name}' looks like '{other}'{where}" for name, other, where in pairs[:_EXAMPLES_OF_NAMES]]
        more = f"; and {len(pairs) - _EXAMPLES_OF_NAMES:,} more" if len(pairs) > _EXAMPLES_OF_NAMES else ""
        name, other, _ = pairs[0]
        yield (
            f"{'; '.join(shown)}{more}. Two spellings of one individual count as two individuals, with two budgets, "
            "and the erasure of one leaves the other. Give both the same name in the unit field, the pattern or the "
            f"manifest; if both are in the vault: discreet units join VAULT {quoted(name)} {quoted(other)}"
        )


_TRIED = 10_000
"""So many names are looked up among erased ones: that takes some tenths of a second."""
_BETWEEN = (" ", "_", "-", ".")
_BETWEEN_WORDS = re.compile(r"(?!^-\d)[\W_]+")  # but the sign of a number
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]*\d[^()\[\]]*)[)\]]")


def _alike(names: Iterable[str], others: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the names that share a skeleton with one of `others`, each with the first such one."""
    first: dict[str, str] = {}
    for other in others:
        for bones in _skeletons(other):
            first.setdefault(bones, other)
    for name in names:
        alike = [first[bones] for bones in _skeletons(name) if first.get(bones, name) != name]
        if alike:
            yield name, alike[0]


def _skeletons(name: str) -> list[str]:
    """Return what a name keeps in other spellings: words without marks, leading zeros and dots of i, also in order.

    A number in brackets behind a name may be the name elsewhere. Accents stay: among many people, they tell two apart.
    """
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).replace("i\u0307", "i")).replace("ı", "i")
    skeletons = [plain, *(_IN_BRACKETS.findall(plain)[:1])]
    if plain.count(",") == 1:
        skeletons.append(" ".join(reversed(plain.split(","))))
    return [bones for one in skeletons if (bones := _ZEROS.sub("", _BETWEEN_WORDS.sub(" ", one)).strip())]


def _erased(names: Iterable[str], store: Store) -> Iterator[tuple[str, str]]:
    """Yield the names of which another spelling was erased. Some are tried, since only digests of them are kept."""
    tried = {other: name for name in names for other in _spellings(name) if other != name}
    for other in sorted(store.buried(tried)):
        yield tried[other], other


def _spellings(name: str) -> Iterator[str]:
    if _BETWEEN_WORDS.search(name) and not _BETWEEN_WORDS.sub(" ", name).strip().isdigit():
        yield from (canonical_unit(_BETWEEN_WORDS.sub(mark, name)) for mark in _BETWEEN)
    yield from (bones for bones in _skeletons(name) if bones != name)


_SHOWN = 50


class _Survey:
    """What a preview notes while files are read.

    Args:
        named: the fields whose values are counted.

    Attributes:
        notes: notes on the fields of tables.
        written: how files are written, with the files of each way.
        records: the number of records of the present file.
        has: the number of these records that have a value in each field.
        texts, labelled: the number of files of one text, and of those of them whose unit is known.
    """

    def __init__(self, named: Sequence[str]) -> None:
        self._named, self.notes, self.written = named, list[str](), dict[str, list[str]]()
        self.records, self.has, self.texts, self.labelled = 0, Counter[str](), 0, 0

    def see(self, source: str, record: Record) -> None:
        """Note how a file is written, and which fields one of its records has."""
        files = self.written.setdefault(record.written, [])
        files += [source] * (source not in files[-1:])
        self.records += 1
        self.has.update(name for name in self._named if not is_empty(value_of(record.values, name)))

    def formats(self) -> Iterator[str]:
        """Yield how files are written, with the first of each way."""
        for way, files in self.written.items():
            if way:
                yield f"{files[0]}{f' and {len(files) - 1:,} more' if len(files) > 1 else ''}: {way}"


class Intake:
    """The files of one addition to a vault.

    Args:
        paths: files and folders, or files of an earlier search, such as the standard input (`kept_stdin`).
        options: the reading options.
        rules: the rules that give units to files and records.
        vault_unit: the vault's unit field.
        known: what is in the vault.

    Raises:
        UsageError, BadData: if a path does not exist, if a library is missing, or if a pattern or a manifest cannot be
            used.
    """

    def __init__(
        self,
        paths: Sequence[Path | FoundFile],
        options: ReadingOptions,
        rules: UnitRules,
        vault_unit: str,
        known: Known | None = None,
    ) -> None:
        self._rules, self._vault_unit, self._known = rules, vault_unit, known or Known()
        self._options = replace(options, may_be=frozenset(map(canonical_unit, rules.may_be)), all_fields=False)
        listing = find_files(paths)
        check_readable(listing.files, self._options)
        texts = [file for file in listing.files if not is_table(file.path)]
        beside = {path for file in texts if (path := sidecar(file.path))}
        self._unread = listing.unread
        self._tables = [file for file in listing.files if is_table(file.path) and file.path not in beside]
        self._texts = {file.source: file for file in texts}
        self._units = FileUnits(rules, texts, options)

    @property
    def files(self) -> tuple[FoundFile, ...]:
        """All files that can be read, without sidecars of other files."""
        return (*self._tables, *self._texts.values())

    @cached_property
    def preview(self) -> Preview:
        """The preview of the addition: all of it, without writing.

        Raises:
            UsageError, BadData: if units are not named, or if a field is missing. Nothing was written.
        """
        judge, survey, many = RecordJudge(self._known), _Survey(self._options.named), len(self.files) > 1
        name = "Checking the files" if many else "Checking the records of the file"
        with stage(name, len(self.files) if many else None) as done:  # only a single file is counted by its records
            for _ in judge.admit(self.read(survey, done if many else ignore_progress)):
                if not many:
                    done(1)
        largest_unit, largest = next(iter(judge.units.most_common(1)), ("", 0))
        return Preview(
            unit_field=self._options.unit_field,
            files=len(self.files),
            records=judge.units.total(),
            units=len(judge.units),
            largest=largest,
            largest_unit=largest_unit,
            single=sum(count == 1 for count in judge.units.values()),
            examples=tuple(islice(judge.units, _EXAMPLES)),
            repeated=judge.repeated,
            own_unit=judge.own_unit,
            new=judge.fates[Fate.ADDED],
            replaced=judge.fates[Fate.REPLACED],
            unchanged=judge.fates[Fate.UNCHANGED],
            known=len(self._known.units & judge.units.keys()),
            refused=tuple(judge.left[BadRecord]),
            **judge.reported(),
            formats=tuple(survey.formats()),
            doubts=tuple(self._doubts(+judge.named)),
            notes=(*survey.notes, *self._notes(judge)),
        )

    def documents(self, judge: RecordJudge | None = None) -> Iterator[tuple[Document, Fate]]:
        """Return the documents to add, and those that are stored. `judge` keeps what cannot be added.

        Raises:
            UsageError, BadData: see `preview`, which runs first.
        """
        _ = self.preview
        return (judge or RecordJudge(self._known)).admit(self.read())

    def read(self, survey: _Survey | None = None, file_done: Advance = ignore_progress) -> Iterator[Read | BadRecord]:
        """Yield all documents and refused records. With a `survey`, check that records and files name their units."""
        yield from self._unread
        yield from self._units.absent
        with Sandbox() as sandbox:  # one for all files: starting a process takes longer than reading a file
            for file in self.files:
                yield from self._read_file(file, sandbox, survey)
                file_done(1)
        if survey:
            self._units.check(survey.labelled, survey.texts)

    def _read_file(self, file: FoundFile, sandbox: Sandbox, survey: _Survey | None) -> Iterator[Read | BadRecord]:
        is_text = file.source in self._texts
        reader = Reader(self._options, own_units=self._rules.each_file if is_text else self._rules.each_record)
        if survey:
            survey.records, survey.has = 0, Counter()
        for record in read_file(file, self._options, sandbox):
            document = record if isinstance(record, BadRecord) else self._document(record, reader, file, is_text)
            if survey and isinstance(record, Record):
                survey.see(file.source, record)
            if survey and is_text:
                survey.texts += isinstance(record, Record)
                survey.labelled += isinstance(document, Read | NoText)
            yield document
        if survey and survey.records and not is_text:
            survey.notes += self._check(file, survey.has)

    def _document(self, record: Record, reader: Reader, file: FoundFile, is_text: bool) -> Read | BadRecord:
        """Return the document of a record, or of a file of one text with its labels."""
        try:
            return reader.read(replace(record, values=self._units.values(record, file.path)) if is_text else record)
        except Unreadable as error:
            return BadRecord(record.where, str(error))

    def _check(self, file: FoundFile, has: Counter[str]) -> list[str]:
        """Return notes on a table's fields.

        Raises:
            BadData: if no record has a unit, a text, or the given field for ids.
        """
        options = self._options
        needed = [(name, "--text-field") for name in (options.text_field, *options.more_text)]
        needed += [(options.unit_field, "--unit-field")] * (not self._rules.each_record)
        needed += [(options.id_field, "--id-field")] * (options.id_field not in ("", ReadingOptions.id_field))
        for name, option in needed:
            if not has[name]:
                raise BadData(self._missing(file, name, option))
        return [
            f"No record of {file.source} has the declared field '{name}'." for name in options.declared if not has[name]
        ]

    def _missing(self, file: FoundFile, name: str, option: str) -> str:
        """Return the reason to refuse a table, with its columns."""
        columns = self._columns(file)
        has = f" Its fields: {', '.join(columns)}." if columns else ""
        guess, role = suggestion(name, columns, option), ""
        if option == "--unit-field":
            vaults = "the vault's unit field" if name == self._vault_unit else f"not the vault's '{self._vault_unit}'"
            role = f" ({vaults})"
            guess += " If each record belongs to another individual: --each-record-a-unit."
        return f"No record of {file.source} has the field '{name}'{role}.{has} {guess} Nothing was added."

    def _columns(self, file: FoundFile) -> list[str]:
        """Return the names of a table's fields. In JSON, a name that one record has alone may be an individual's."""
        names, every, seen = Counter[str](), replace(self._options, all_fields=True), 0
        for record in islice(read_records([file], every), 1000):
            if isinstance(record, Record):
                seen += 1
                names.update(iter(dict.fromkeys(_names_in(record.values))))
        if kind_of(file.path) in ("json", "jsonl"):
            usual = {name for name, times in names.items() if times > 1 or "_" in name or is_usual(name)}
            return [name for name in names if name in usual and ("." not in name or 2 * names[name] > seen)][:_SHOWN]
        return [*names][:_SHOWN]

    def _doubts(self, named: Counter[str]) -> Iterator[str]:
        """Yield likely mistakes in the names of units."""
        unit_field = self._options.unit_field
        if unit_field != self._vault_unit and self._tables:
            yield (
                f"'{unit_field}' is not the vault's unit field '{self._vault_unit}'. An individual must have "
                "the same name in both fields. Otherwise it counts as two individuals."
            )
        yield from doubts_about(named, unit_field)
        yield from self._known.doubts(named)
        pattern = self._units.pattern
        ambiguous = [(source, two) for source in self._texts if pattern and (two := pattern.ambiguous(source))]
        if pattern and ambiguous:
            source, (taken, other) = ambiguous[0]
            yield (
                f"The pattern '{pattern.text}' matches {counted(len(ambiguous), 'file')} in two ways. The unit of "
                f"'{source}' becomes '{taken}', but could be '{other}'. Use [0-9] or ???? instead of *."
            )

    def _notes(self, judge: RecordJudge) -> Iterator[str]:
        for name, number in judge.dropped.items():
            yield f"The field '{name}' is left out of {counted(number, 'document')}, as its value has another type."
        if judge.beside:
            columns = [name for file in self._tables[:1] for name in self._columns(file)]
            likely = next((name for name in columns if _AN_ID.search(name) and name != self._options.unit_field), "")
            ask = (
                f"Is '{likely}' an id? --id-field {quoted(likely)}"
                if likely
                else "With --id-field they would replace them."
            )
            yield (
                f"{counted(judge.beside, 'text')} of individuals who are in the vault: if these are corrected texts, "
                f"the old ones stay beside them. {ask}"
            )
        if judge.own_unit:
            option = "--each-record-a-unit" if self._rules.each_record else "--each-file-a-unit"
            yield (
                f"{counted(judge.own_unit, 'document')} without '{self._options.unit_field}': each becomes a unit "
                f"({option}). If several belong to one individual, this individual has less protection than a receipt "
                "states."
            )


def _names_in(value: object, before: str = "") -> Iterator[str]:
    """Yield the names of fields, of objects within them the parts that have a value: `resource.subject.reference`."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _names_in(part, f"{before}.{name}" if before else str(name))
    elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        for one in value[:_SHOWN]:
            yield from _names_in(one, before)
    else:
        yield before


_AN_ID = re.compile(r"(?i)(^|[\W_])(id|nr|no|number|nummer|key|case)\b|nr\.?$|(?-i:(Id|ID|Nr)$)")
