"""Manifests: tables with the unit of each file."""

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
    """The rows of a manifest by file.

    Attributes:
        rows: the row of each file by its source: the unit under the vault's unit field, and all other columns.
        absent: the paths of rows without a file, as spelled in the manifest.
    """

    rows: Mapping[str, Mapping[str, object]]
    absent: tuple[str, ...]


def read_manifest(
    name: str, folder: Path, records: Iterable[Record | BadRecord], files: Mapping[str, Path], unit_field: str
) -> Manifest:
    """Match the rows of a manifest with files. Return the manifest.

    Args:
        name: the name of the manifest, for messages.
        folder: the folder of the manifest. Paths may be relative to it, to the given folder, or to the current one.
        records: the rows, with the columns `path` and `unit` (or the vault's unit field), and optionally `id`.
        files: the path of each file by its source.
        unit_field: the vault's unit field.

    Raises:
        BadData: if a row cannot be read, if it has no path or no unit, or if two rows name one file.
    """
    by_source = {unicodedata.normalize("NFC", source): source for source in files}
    by_path = {path.resolve(): source for source, path in files.items()}
    rows: dict[str, Mapping[str, object]] = {}
    absent: list[str] = []
    for record in records:
        if isinstance(record, BadRecord):
            raise BadData(
                f"The manifest cannot be read: {record.where}: {record.reason}. Correct the row. Nothing was added."
            )
        values = _checked(name, record, unit_field)
        path = str(values[PATH]).strip()
        source = _source(path, folder, by_source, by_path)
        if not source:
            absent.append(path)
        elif source in rows:
            raise BadData(f"{record.where} names the same file as an earlier row. Keep one row for each file.")
        else:
            rows[source] = values
    if not rows and not absent:
        raise BadData(
            f"The manifest {name} has no rows. Write one row for each file, with the columns {PATH} and {unit_field}."
        )
    return Manifest(rows, tuple(absent))


def _checked(name: str, record: Record, unit_field: str) -> Mapping[str, object]:
    values = dict(record.values)
    if unit_field not in values and "unit" in values:
        values[unit_field] = values.pop("unit")
    missing = [column for column in (PATH, unit_field) if column not in values]
    if missing:
        raise BadData(
            f"The manifest {name} has no column '{missing[0]}'. Its columns: {', '.join(record.values)}. It needs "
            f"'{PATH}' and '{unit_field}' (or 'unit'); 'id' is optional. Nothing was added."
        )
    for column in (PATH, unit_field):
        if is_empty(values[column]):
            raise BadData(f"{record.where} has no value in the column '{column}'. Add the value. Nothing was added.")
    return values


def _source(path: str, folder: Path, by_source: Mapping[str, str], by_path: Mapping[Path, str]) -> str:
    """Return the source of the file that a row names; "" if there is no such file."""
    spelled = unicodedata.normalize("NFC", path.replace("\\", "/"))
    spelled = spelled.removeprefix("./")
    if spelled in by_source:
        return by_source[spelled]
    try:
        paths = [(folder / path).resolve(), Path(path).resolve()]
    except (OSError, ValueError):
        return ""
    return next((by_path[one] for one in paths if one in by_path), "")
