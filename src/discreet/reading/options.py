"""How files are to be read, where a file does not say it itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadingOptions:
    """How to read.

    Attributes:
        text_field: the column or field with the text. A table without it is refused.
        encoding: of files of text and of tables; None: each file's own is detected.
        delimiter: between the columns of a CSV or TSV file, one character; None: each file's own is detected.
        needed: the other columns that are of use (units, ids, fields). None of them may be twice in a table. None: all.
    """

    text_field: str = "text"
    encoding: str | None = None
    delimiter: str | None = None
    needed: frozenset[str] | None = None

    def wants(self, name: str) -> bool:
        """Whether a column is of use."""
        return self.needed is None or name == self.text_field or name in self.needed
