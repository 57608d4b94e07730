"""The result of reading a document."""

from dataclasses import dataclass


class Unreadable(Exception):  # noqa: N818 - it is a fact about a file
    """A file that cannot be read. The message is a code that the parent process knows, never text of the file."""


@dataclass(frozen=True)
class Extracted:
    """A document's text, with counts of the parts that were not read.

    Attributes:
        text: the text.
        pages_without_text: the number of such pages of a PDF.
        attachments: the number of attachments of a mail, or of embedded objects in a document.
        forms: 1 if a PDF has form fields, whose values are not read; otherwise 0.
    """

    text: str
    pages_without_text: int = 0
    attachments: int = 0
    forms: int = 0
