"""The documents of a file or folder, for tests of what files hold."""

from collections.abc import Iterator
from pathlib import Path

from discreet.files.intake import Intake
from discreet.files.records import BadRecord, ReadingOptions
from discreet.files.units import UnitRules
from discreet.store.documents import Document


def read_documents(path: Path, options: ReadingOptions | None = None) -> Iterator[Document | BadRecord]:
    """Yield the documents of a file or folder. Records and files without a unit become units."""
    options = options or ReadingOptions()
    intake = Intake([path], options, UnitRules(each_file=True, each_record=True), options.unit_field)
    return (one if isinstance(one, BadRecord) else one.document for one in intake.read())
