"""The names of a table's columns: the text is among them, and none that is needed is there twice."""

import re
from collections.abc import Sequence

from discreet.errors import BadData
from discreet.reading.guessing import is_usual, suggestion
from discreet.reading.options import ReadingOptions

_A_NAME = re.compile(r"[^\W\d]\w{0,29}([ -]\w{1,30}){0,2}")


def check_columns(source: str, names: Sequence[str], options: ReadingOptions, *, are_names: bool) -> None:
    """Check the columns of a table.

    Args:
        source: the file, for the message.
        names: of the columns, in their order.
        options: which are needed.
        are_names: whether these are names for certain. The first line of a CSV file may be a document; it is shown only
            if it looks like names.

    Raises:
        BadData: there is no column for the text, or one that is needed is there twice.
    """
    if options.text_field not in names:
        shown = ", ".join(names[:50]) if names and (are_names or _look_like_names(names)) else ""
        has = f" It has: {shown}." if shown else " Its first line does not look like names of columns."
        right = suggestion(options.text_field, names if shown else (), "--text-field")
        raise BadData(f"{source} has no column '{options.text_field}'.{has} {right} Nothing was added.")
    twice = sorted({name for name in names if name and options.wants(name) and names.count(name) > 1})
    if twice:
        raise BadData(f"{source} has two columns '{twice[0]}'. Give each a name of its own. Nothing was added.")


def _look_like_names(names: Sequence[str]) -> bool:
    return (
        len(set(names)) == len(names)
        and all(_A_NAME.fullmatch(name) for name in names)
        and any("_" in name or is_usual(name) for name in names)
    )
