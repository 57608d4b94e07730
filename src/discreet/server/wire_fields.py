"""Checks of the fields of a message: each returns the value of a field, or refuses it without repeating it."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from discreet.errors import DiscreetError
from discreet.system.words import is_unicode

Check = Callable[[object], Any]
"""Returns the value of a field that is as the schema says; raises `WireError` for any other."""


class WireError(DiscreetError):
    """Bytes that are no message of the schema. Their content is never in the error's text."""


def refuse(expected: str) -> WireError:
    """Return the error for a field; it names what the schema has, never what came."""
    return WireError(f"A message does not match the schema: {expected} was expected. Run the same version everywhere.")


def text(most: int, least: int = 0) -> Check:
    """Return a check of a text of `least` to `most` characters."""

    def check(value: object) -> str:
        if not (isinstance(value, str) and least <= len(value) <= most and is_unicode(value)):
            raise refuse(f"a text of {least} to {most} characters")
        return value

    return check


def pattern(expression: str) -> Check:
    """Return a check of a text that matches `expression` as a whole."""
    compiled = re.compile(expression)

    def check(value: object) -> str:
        if not (isinstance(value, str) and compiled.fullmatch(value)):
            raise refuse(f"a text that matches {expression}")
        return value

    return check


def one_of(*names: str) -> Check:
    """Return a check of a text that is one of `names`."""

    def check(value: object) -> str:
        if not (isinstance(value, str) and value in names):
            raise refuse(f"one of {', '.join(names)}")
        return value

    return check


def number(low: float = 0.0, high: float = math.inf) -> Check:
    """Return a check of a finite number from `low` to `high`."""

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise refuse("a number")
        try:
            found = float(value)
        except OverflowError:
            raise refuse("a number that fits into 64 bits") from None
        if not (math.isfinite(found) and low <= found <= high):
            raise refuse(f"a finite number from {low:g} to {high:g}")
        return found

    return check


def whole(low: int, high: int) -> Check:
    """Return a check of a whole number from `low` to `high`."""

    def check(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise refuse(f"a whole number from {low} to {high}")
        return value

    return check


def truth(value: object) -> bool:
    """Return a boolean."""
    if not isinstance(value, bool):
        raise refuse("true or false")
    return value


def exactly(expected: object) -> Check:
    """Return a check of one single value."""

    def check(value: object) -> Any:
        if type(value) is not type(expected) or value != expected:
            raise refuse(repr(expected))
        return value

    return check


def optional(inner: Check) -> Check:
    """Return a check that takes null as well."""
    return lambda value: None if value is None else inner(value)


def either(*checks: Check) -> Check:
    """Return a check that takes what one of `checks` takes."""

    def check(value: object) -> Any:
        for inner in checks:
            try:
                return inner(value)
            except WireError:
                continue
        raise refuse("another type of value")

    return check


def list_of(inner: Check, most: int, least: int = 0) -> Check:
    """Return a check of a list of `least` to `most` values."""

    def check(value: object) -> list[Any]:
        if not (isinstance(value, list) and least <= len(value) <= most):
            raise refuse(f"a list of {least} to {most} values")
        return [inner(one) for one in value]

    return check


def tuple_of(inner: Check, most: int) -> Check:
    """Return a check of a list, which becomes a tuple."""
    listed = list_of(inner, most)
    return lambda value: tuple(listed(value))


def mapping_of(inner: Check, most: int, key: Check) -> Check:
    """Return a check of an object with at most `most` fields, each of any name that `key` takes."""

    def check(value: object) -> dict[str, Any]:
        if not (isinstance(value, dict) and len(value) <= most):
            raise refuse(f"an object of at most {most} fields")
        return {key(name): inner(one) for name, one in value.items()}

    return check


def record(fields: Mapping[str, Check], may_lack: frozenset[str] = frozenset()) -> Check:
    """Return a check of an object with these fields and no other; those in `may_lack` may be absent."""
    needed = fields.keys() - may_lack

    def check(value: object) -> dict[str, Any]:
        if not isinstance(value, dict) or not needed <= value.keys() <= fields.keys():
            raise refuse(f"an object with the fields {', '.join(sorted(fields))} and no other")
        return {name: fields[name](one) for name, one in value.items()}

    return check


def built(kind: Callable[..., Any], fields: Mapping[str, Check]) -> Check:
    """Return a check of an object that becomes a `kind`."""
    check = record(fields)
    return lambda value: kind(**check(value))
