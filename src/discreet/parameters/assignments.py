"""Texts of the form name=value, as in `--param voters=20`."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from discreet.errors import UsageError
from discreet.parameters.fields import Parameter


def join_assignment(name: str, value: object) -> str:
    """Return the text that assigns a value to a name."""
    return f"{name}={value}"


def read_assignments(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return the values of each name, in the order of the texts. A hyphen in a name becomes an underscore.

    Raises:
        UsageError: if a text has no name or no equals sign.
    """
    values: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--param expects NAME=VALUE; the value given is '{text}'. Example: --param voters=20.")
        values.setdefault(name.strip().replace("-", "_"), []).append(value)
    return values


def find_parameter(name: str, parameters: Iterable[Parameter]) -> Parameter | None:
    """Return the parameter with this option name or field name; None if no parameter has it."""
    for parameter in parameters:
        if name in (parameter.option, parameter.name):
            return parameter
    return None


def suggest_names(name: str, parameters: Sequence[Parameter]) -> str:
    """Return a sentence with the nearest names, or with all of them if none is near."""
    known = [parameter.option for parameter in parameters]
    near = get_close_matches(name, known, n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(near)}?" if near else f"It has: {', '.join(sorted(known)) or 'none'}."
