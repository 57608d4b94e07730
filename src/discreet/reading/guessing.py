"""Which column may have been meant, where one is missing: a suggestion in an error, never taken."""

from collections.abc import Sequence
from difflib import get_close_matches

_OFTEN = {
    "--text-field": ("text", "note", "notes", "body", "content", "message", "comment", "letter", "report"),
    "--unit-field": ("unit", "patient", "person", "subject", "individual", "user", "client", "customer", "member"),
    "--id-field": ("id", "record", "document", "number"),
}
"""By the option that names a column, what such columns are often called."""


def is_usual(name: str) -> bool:
    """Whether a column is often called so: where there is one, a line holds names of columns."""
    return any(name.casefold() in words for words in _OFTEN.values()) or name.casefold() in ("date", "age", "name")


def suggestion(name: str, columns: Sequence[str], option: str) -> str:
    """A sentence that names the column that may have been meant, or asks for one."""
    folded = {column.casefold(): column for column in columns}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    if not near:
        words = _OFTEN[option]
        near = [word for word in words if word in folded]
        near += [column for word in words for column in folded if word in column.replace("-", "_").split("_")]
    return f"Did you mean {option} {folded[near[0]]}?" if near else f"Name the right one: {option} NAME."
