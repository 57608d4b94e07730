"""The options for reading files."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadingOptions:
    """The options for reading files.

    Attributes:
        text_field: the column or field with the text. A table without it is refused.
        encoding: the encoding of texts and tables; None: it is detected for each file.
        delimiter: the delimiter of a CSV or TSV file, one character; None: it is detected for each file.
        needed: the other needed columns (units, ids, fields). A table may have each of them once. None: all columns.
    """

    text_field: str = "text"
    encoding: str | None = None
    delimiter: str | None = None
    needed: frozenset[str] | None = None

    def wants(self, name: str) -> bool:
        """Return whether a column is needed."""
        return self.needed is None or name == self.text_field or name in self.needed
