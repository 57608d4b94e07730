"""Readers of files of office programs, from bytes to text, for a separate process. They open no file."""

from collections.abc import Mapping
from dataclasses import dataclass, field


class Unreadable(Exception):  # noqa: N818 - it is a fact about a file
    """A file that cannot be read. The message is a code that the parent process knows, never text of the file."""


@dataclass(frozen=True)
class Wanted:
    """How a document is read.

    Attributes:
        encoding: its encoding; "" if it is to be detected.
        without_quotes: whether the words of others that a mail quotes are left out.
        ocr: whether pages of a PDF without text are read as pictures.
    """

    encoding: str = ""
    without_quotes: bool = False
    ocr: bool = False


@dataclass(frozen=True)
class Extracted:
    """A document's text, with counts of the parts that were not read.

    Attributes:
        text: the text.
        encoding: the encoding of a text without a mark; "" for files that state theirs.
        fields: what a mail's header states: from (an address), to, cc, date, subject, message-id.
        pages: the number of pages of a PDF without text.
        recognized: the number of pages of a PDF whose text was read from a picture.
        attachments: the number of attachments of a mail, or of embedded files in a document.
        forms: 1 if a document has form fields whose values are not read; otherwise 0.
        bodiless: 1 if a mail has no text; otherwise 0.
    """

    text: str
    encoding: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    pages: int = 0
    recognized: int = 0
    attachments: int = 0
    forms: int = 0
    bodiless: int = 0
