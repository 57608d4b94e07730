"""The preview of an addition, for the custodian, before anything is written."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.reading.records import BadRecord
from discreet.system.plain import to_plain

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
