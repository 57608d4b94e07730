"""Files and their records, before the unit of each record is known."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class FoundFile(NamedTuple):
    """A file, and its name in the vault."""

    path: Path
    source: str


@dataclass(frozen=True)
class Record:
    """One record of a table, or one file of text.

    Attributes:
        values: the fields by name, unchanged. A file of text has its text in the field `text`.
        where: the position, for messages: "notes.csv line 7", "letters/ada.pdf".
        source: the name of the file in the vault: its path relative to the given folder, or its file name.
        whole: whether the record is a whole file, which has no unit field.
    """

    values: Mapping[str, object] = field(repr=False)
    where: str
    source: str
    whole: bool = False


@dataclass(frozen=True)
class BadRecord:
    """A part of a file that could not be read.

    Attributes:
        where: the file and the place in it.
        reason: why it was left out. It never contains text of the file.
    """

    where: str
    reason: str


class PartLeftOut(BadRecord):
    """A part of a file that was left out, such as an attachment, though the rest of the file was read."""


def kind_of(path: Path) -> str:
    """Return the format of a file by its suffix: "csv" for "a.CSV.gz", "html" for "a.htm", "jsonl" for "a.ndjson"."""
    name = path.name.lower()
    kind = name.removesuffix(".gz").rpartition(".")[2]
    return {"htm": "html", "ndjson": "jsonl"}.get(kind, kind)
