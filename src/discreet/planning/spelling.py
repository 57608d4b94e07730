"""Whether the name of a model is misspelt."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from discreet.errors import UnknownName


def check_spelling(kind: str, name: str, known: Iterable[str]) -> None:
    """Nothing, unless the name of a model is nearly, but not quite, one that is packaged, or a path to nothing.

    Any other is taken as it is: whether a hub has it is not looked at before it is used.

    Raises:
        UnknownName: it looks misspelt.
    """
    known, there = list(known), name in known or _is_there(name)
    a_path = name.startswith(("/", "./", "../", "~"))
    if not there and (a_path or ("/" not in name and get_close_matches(name.lower(), known, 1, cutoff=0.6))):
        raise UnknownName(f"{kind} (nor a folder)" if a_path else kind, name, known)


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long for a path, or no path at all
        return False
