"""The documents of a file or folder, for tests of what files hold."""

from collections.abc import Iterator
from pathlib import Path

from discreet.reading.intake import Intake
from discreet.reading.records import BadRecord, ReadingOptions
from discreet.reading.units import Fields, UnitRules
from discreet.retrieval.documents import Document


def read_documents(path: Path, fields: Fields | None = None) -> Iterator[Document | BadRecord]:
    """Yield the documents of a file or folder. Records and files without a unit become units."""
    fields = fields or Fields()
    intake = Intake([path], fields, ReadingOptions(), UnitRules(each_file=True, each_record=True), fields.unit)
    return (one if isinstance(one, BadRecord) else one.document for one in intake.read())
