"""Numbers of an answer that stand in no text that its voter read: they were made up, or are an average."""

import re
import unicodedata
from collections.abc import Sequence

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_WORDS = dict(
    zip("zero one two three four five six seven eight nine ten eleven twelve".split(), range(13), strict=True)
)
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)


def has_strange_number(answer: str, texts: Sequence[str], question: str) -> bool:
    """Return whether an answer has a number in digits that stands in none of the texts, and not in the question.

    "two" in a text is a 2. It depends on one voter's answer and texts, and on the question, alone.
    """
    wanted = _numbers(answer)
    return bool(wanted) and not wanted <= _numbers(" ".join((question, *texts)), words=True)


def _numbers(text: str, *, words: bool = False) -> set[str]:
    text = unicodedata.normalize("NFKC", text)
    found = {str(_WORDS[one.casefold()]) for one in _WORD.findall(text)} if words else set()
    return found.union(*map(_values, _NUMBER.findall(text)))


def _values(written: str) -> list[str]:
    """Return the one value of a decimal or a whole number, or those of a date: "31.01.2026" is 31, 1 and 2026."""
    plain = written.replace(",", "") if _THOUSANDS.fullmatch(written) else written.replace(",", ".")
    parts = plain.split(".")
    if len(parts) != 2:
        return [part.lstrip("0") or "0" for part in parts]
    whole, rest = parts[0].lstrip("0") or "0", parts[1].rstrip("0")
    return [f"{whole}.{rest}" if rest else whole]
