"""Suggestions for a missing column in error messages. They are never applied."""

from collections.abc import Sequence
from difflib import get_close_matches

from discreet.system.words import quoted

_OFTEN = {
    "--text-field": ("text", "note", "notes", "body", "content", "message", "comment", "letter", "report"),
    "--unit-field": ("unit", "patient", "person", "subject", "individual", "user", "client", "customer", "member"),
    "--id-field": ("id", "record", "document", "number"),
}
"""Frequent names of columns, by the option that names such a column."""


def is_usual(name: str) -> bool:
    """Return whether this is a frequent name of a column. A line with such a name has names of columns."""
    return any(name.casefold() in words for words in _OFTEN.values()) or name.casefold() in ("date", "age", "name")


def suggestion(name: str, columns: Sequence[str], option: str) -> str:
    """Return a sentence with the nearest column, or a request for a name."""
    folded = {column.casefold(): column for column in columns}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    if not near:
        words = _OFTEN[option]
        near = [word for word in words if word in folded]
        near += [column for word in words for column in folded if word in column.replace("-", "_").split("_")]
    return f"Did you mean {option} {quoted(folded[near[0]])}?" if near else f"Give the right column: {option} NAME."
