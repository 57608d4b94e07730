"""A check for misspelt names of models."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from discreet.errors import UnknownName


def check_spelling(kind: str, name: str, known: Iterable[str]) -> None:
    """Check that the name of a model does not look misspelt. This check does not query the hub.

    Raises:
        UnknownName: if the name is close to a packaged one, or if it is a path that does not exist.
    """
    known, there = list(known), name in known or _is_there(name)
    a_path = name.startswith(("/", "./", "../", "~"))
    if not there and (a_path or ("/" not in name and get_close_matches(name.lower(), known, 1, cutoff=0.6))):
        raise UnknownName(f"{kind} (nor a folder)" if a_path else kind, name, known)


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # the name is too long for a path, or has invalid characters
        return False
