"""What an addition will do, told to the custodian before anything is written."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.reading.records import BadRecord

_NEARLY_ALL, _SOME = 0.95, 20
_FEW, _MANY = 20, 100
_EXAMPLES = 5


@dataclass(frozen=True)
class Preview:
    """What was found in files: for the custodian alone, since it shows names.

    Attributes:
        unit_field: the field that names the unit.
        files: how many files were found that can be read.
        records: how many documents they hold.
        units: how many units these are about.
        largest: the documents of the unit that has most.
        largest_unit: its name.
        single: how many units have one document.
        examples: the names of some units.
        repeated: how many records repeat one of the same unit in the same file; they are kept.
        own_unit: how many name no unit, and become a unit of their own.
        refused: what cannot be added, by place and reason.
        formats: the form of each table, as it was detected or given.
        doubts: likely mistakes.
        notes: what is worth knowing.
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
        """One line: how much of whom."""
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
        """The preview as plain data."""
        return {
            "files": self.files,
            "records": self.records,
            "units": self.units,
            "unit_field": self.unit_field,
            "largest": self.largest,
            "largest_unit": self.largest_unit,
            "single": self.single,
            "examples": list(self.examples),
            "repeated": self.repeated,
            "own_unit": self.own_unit,
            "refused": [{"where": bad.where, "reason": bad.reason} for bad in self.refused],
            "formats": list(self.formats),
            "doubts": list(self.doubts),
            "notes": list(self.notes),
        }


def unit_figures(units: Counter[str]) -> dict[str, Any]:
    """The attributes of a preview that follow from the number of documents of each unit."""
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
    """Likely mistakes, from how many documents name which unit.

    Args:
        named: the documents of each unit that a field, a pattern or a manifest names.
        field: the field.
    """
    records, units = named.total(), len(named)
    if records >= _SOME and units >= _NEARLY_ALL * records:
        return [
            f"Nearly every record differs in '{field}': {units:,} units in {records:,} records. If several records are "
            "about one individual, this field does not name it, and the individual is not protected."
        ]
    if records >= _MANY and units < _FEW:
        return [
            f"'{field}' has {counted(units, 'value')} in {records:,} records. If it does not name individuals (but "
            "wards, say), hardly a question can be answered."
        ]
    return []


def grouped(refused: Sequence[BadRecord]) -> list[str]:
    """The reasons why records are refused, the most frequent first, each with the first place."""
    places: dict[str, list[str]] = {}
    for bad in refused:
        places.setdefault(bad.reason, []).append(bad.where)
    return [
        f"{where[0]}: {reason}" if len(where) == 1 else f"{len(where):,} records: {reason} (first: {where[0]})"
        for reason, where in sorted(places.items(), key=lambda item: -len(item[1]))
    ]


def counted(number: int, what: str) -> str:
    """A number and what it counts, in the plural if it is not one."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
