"""A manifest: a table that names, for each file, the unit that it is about."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import BadData
from discreet.reading.fields import is_empty
from discreet.reading.records import BadRecord, Record

PATH = "path"
"""The column with the path of a file."""


@dataclass(frozen=True)
class Manifest:
    """The rows of a manifest by the file that they name.

    Attributes:
        rows: by the source of a file, its row: the unit under the vault's unit field, and all other columns.
        absent: the paths of rows whose files were not found, as the manifest has them.
    """

    rows: Mapping[str, Mapping[str, object]]
    absent: tuple[str, ...]


def read_manifest(
    name: str, folder: Path, records: Iterable[Record | BadRecord], files: Mapping[str, Path], unit_field: str
) -> Manifest:
    """Match the rows of a manifest with files.

    Args:
        name: of the manifest, for messages.
        folder: of the manifest; paths may be relative to it, to the folder that was named, or to the current one.
        records: its rows, with the columns `path` and `unit` (or the vault's unit field), and perhaps `id`.
        files: by source, where each file is.
        unit_field: the vault's unit field.

    Raises:
        BadData: a row cannot be read, has no path or no unit, or a file is named twice.
    """
    by_source = {unicodedata.normalize("NFC", source): source for source in files}
    by_place = {path.resolve(): source for source, path in files.items()}
    rows: dict[str, Mapping[str, object]] = {}
    absent: list[str] = []
    for record in records:
        if isinstance(record, BadRecord):
            raise BadData(f"The manifest cannot be read: {record.where}: {record.reason}. Mend it. Nothing was added.")
        values = _checked(name, record, unit_field)
        path = str(values[PATH]).strip()
        source = _source(path, folder, by_source, by_place)
        if not source:
            absent.append(path)
        elif source in rows:
            raise BadData(f"{record.where} names a file that another row names already. Keep one row for each file.")
        else:
            rows[source] = values
    if not rows and not absent:
        raise BadData(f"The manifest {name} has no rows. Give it the columns {PATH} and {unit_field}, a row a file.")
    return Manifest(rows, tuple(absent))


def _checked(name: str, record: Record, unit_field: str) -> Mapping[str, object]:
    values = dict(record.values)
    if unit_field not in values and "unit" in values:
        values[unit_field] = values.pop("unit")
    missing = [column for column in (PATH, unit_field) if column not in values]
    if missing:
        raise BadData(
            f"The manifest {name} has no column '{missing[0]}'. It has: {', '.join(record.values)}. It needs '{PATH}' "
            f"and '{unit_field}' (or 'unit'); 'id' may follow. Nothing was added."
        )
    for column in (PATH, unit_field):
        if is_empty(values[column]):
            raise BadData(f"{record.where} has nothing in the column '{column}'. Fill it in. Nothing was added.")
    return values


def _source(path: str, folder: Path, by_source: Mapping[str, str], by_place: Mapping[Path, str]) -> str:
    """The source of the file that a row names; empty if there is none."""
    spelled = unicodedata.normalize("NFC", path.replace("\\", "/"))
    spelled = spelled.removeprefix("./")
    if spelled in by_source:
        return by_source[spelled]
    try:
        places = [(folder / path).resolve(), Path(path).resolve()]
    except (OSError, ValueError):
        return ""
    return next((by_place[place] for place in places if place in by_place), "")
