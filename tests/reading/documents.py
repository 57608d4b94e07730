"""The documents of a file or folder, for tests of what files hold."""

from collections.abc import Iterator
from pathlib import Path

from discreet.reading.intake import Intake
from discreet.reading.records import BadRecord, ReadingOptions
from discreet.reading.units import UnitRules
from discreet.retrieval.documents import Document


def read_documents(path: Path, options: ReadingOptions | None = None) -> Iterator[Document | BadRecord]:
    """Yield the documents of a file or folder. Records and files without a unit become units."""
    options = options or ReadingOptions()
    intake = Intake([path], options, UnitRules(each_file=True, each_record=True), options.unit_field)
    return (one if isinstance(one, BadRecord) else one.document for one in intake.read())
