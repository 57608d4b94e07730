"""What comes out of a document."""

from dataclasses import dataclass


class Unreadable(Exception):  # noqa: N818 - it is a fact about a file
    """A file cannot be read. Its message is one of the codes that the parent process knows, never content."""


@dataclass(frozen=True)
class Extracted:
    """A document's text, and what of it is missing there.

    Attributes:
        text: all that was read.
        pages_without_text: of a PDF.
        attachments: of a mail, or objects of other programs in a document; they are not read.
        forms: 1 if a PDF has fields to be filled in; what is in them is not read.
    """

    text: str
    pages_without_text: int = 0
    attachments: int = 0
    forms: int = 0
