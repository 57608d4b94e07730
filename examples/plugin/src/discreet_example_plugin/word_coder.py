"""A coder: a text has the values of which a name or a word stands in it. `vault.code(coder=WordCoder())` uses it."""

from collections.abc import Iterator, Sequence
from typing import Any

from discreet.store.codebook import Codebook

Code = tuple[str, str, bool, float | None, str]
"""The attribute and its value, whether the text denies it, a number, and its unit."""


class WordCoder:
    """Looks for the words of each value, without regard to case. Each text is coded by itself."""

    def about(self, book: Codebook) -> tuple[Any, ...]:
        """Return all that the codes depend on beside the text: another version, or another book, codes anew."""
        return ("word coder", 1, book.digest)

    def code(self, texts: Sequence[str], book: Codebook) -> Iterator[tuple[int, list[Code]]]:
        """Yield the position of each text, and its codes."""
        for place, text in enumerate(texts):
            said = text.casefold()
            yield (
                place,
                [
                    (attribute.name, value.name, False, None, "")
                    for attribute in book.coded
                    for value in attribute.values
                    if any(word.casefold() in said for word in (value.name, *value.words))
                ],
            )
