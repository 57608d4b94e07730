"""Checks of a table's columns: the text column exists, and no needed column occurs twice."""

import re
from collections.abc import Sequence

from discreet.errors import BadData
from discreet.reading.guessing import is_usual, suggestion
from discreet.reading.options import ReadingOptions

_A_NAME = re.compile(r"[^\W\d]\w{0,29}([ -]\w{1,30}){0,2}")


def check_columns(
    source: str, names: Sequence[str], options: ReadingOptions, *, are_names: bool, delimiter: str | None = None
) -> None:
    """Check the columns of a table.

    Args:
        source: the name of the file, for the message.
        names: the names of the columns, in order.
        options: the needed columns.
        are_names: whether `names` are certainly names. The first line of a CSV file may be a document, so the message
            shows it only if it looks like names.
        delimiter: the delimiter that was given, if one was.

    Raises:
        BadData: if the table has no text column, or has a needed column twice.
    """
    if options.text_field not in names:
        shown = ", ".join(names[:50]) if names and (are_names or _look_like_names(names)) else ""
        has = f" Its columns: {shown}." if shown else " Its first line does not look like names of columns."
        right = suggestion(options.text_field, names if shown else (), "--text-field")
        by = f" with the delimiter {delimiter!r}" if delimiter else ""
        if delimiter and len(names) == 1:
            has = " The first line has one column by this delimiter, so it may be wrong."
            right = "Omit --delimiter to detect it."
        raise BadData(f"{source} has no column '{options.text_field}'{by}.{has} {right} Nothing was added.")
    twice = sorted({name for name in names if name and options.wants(name) and names.count(name) > 1})
    if twice:
        raise BadData(f"{source} has two columns '{twice[0]}'. Rename one of them. Nothing was added.")


def _look_like_names(names: Sequence[str]) -> bool:
    return (
        len(set(names)) == len(names)
        and all(_A_NAME.fullmatch(name) for name in names)
        and any("_" in name or is_usual(name) for name in names)
    )
