"""Frozen dataclasses as plain data and as JSON. A class states once what leaves: `discreet schema` reads it, too.

The fields of a class are the keys, and the section "Attributes:" of its docstring has their descriptions. A value of
another type than its field's is an error. The library that does this is imported when the first object leaves.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

from discreet.errors import MissingPart

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic import TypeAdapter


KEY = "key"
"""In the metadata of a field of a `Sparse` class: its key, if that is no name in Python."""
Shown = TypeVar("Shown", bound="DataclassInstance")


class _NullIfInfinite:
    def __get_pydantic_json_schema__(self, _schema: Any, _handler: Any) -> dict[str, Any]:
        return {"type": ["number", "null"]}


Unbounded = Annotated[float, _NullIfInfinite()]
"""A number that may be infinite; it is null in JSON then."""


class Sparse:
    """A dataclass whose JSON lacks each field that has its default. A field without a default is always there."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> dict[str, Any]:
        """Return how the class is written: as any dataclass, and then without the absent keys."""

        def write(content: Any, inner: Any) -> dict[str, Any]:
            written = inner(content)
            present = [one for one in fields(content) if is_required(one) or getattr(content, one.name) != one.default]
            return {key_of(one): written[one.name] for one in present}

        return {**handler(source), "serialization": {"type": "function-wrap", "function": write}}


def is_required(field: Field[Any]) -> bool:
    """Return whether a field has no default: of a `Sparse` class, whether the key is always there."""
    return field.default is MISSING


def key_of(field: Field[Any]) -> str:
    """Return the key of a field in JSON."""
    key: str = field.metadata.get(KEY, field.name)
    return key


def show_as(kind: type[Shown], source: object, /, **others: Any) -> Shown:
    """Return an object of a dataclass: each field from `others`, or from the attribute of `source` with its name."""
    names = [one.name for one in fields(kind)]
    return kind(**{name: others[name] if name in others else getattr(source, name) for name in names})


def to_plain(content: Any) -> dict[str, Any]:
    """Return an object of a dataclass as dictionaries, lists, texts, numbers, booleans and None.

    Raises:
        TypeError: if a value is of another type than the class states.
    """
    try:
        plain: dict[str, Any] = _adapter(content.__class__).dump_python(content, mode="json", warnings="error")
    except ValueError:  # its message has the value, which may be private
        raise TypeError(f"A {type(content).__name__} has a value of another type than it states.") from None
    return plain


def to_json(content: Any) -> Any:
    """Return what `to_plain` returns, with None for each number that is infinite or no number.

    Raises:
        TypeError: if a value is of another type than the class states.
    """
    return json.loads(json.dumps(to_plain(content)), parse_constant=lambda _: None)


@cache
def _adapter(kind: type) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


# --- frames -----------------------------------------------------------------------------------------------------------


class Described(Protocol):
    """A result with a form as plain data."""

    def describe(self) -> dict[str, Any]:
        """Return the result as plain data."""


D = TypeVar("D", bound=Described)


class Records(list[D]):
    """A list of results that can become a table."""

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with a row for each result, and the keys of `describe()` as columns.

        Raises:
            MissingPart: if pandas is not installed.
        """
        return frame(one.describe() for one in self)


def frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> Any:
    """Return a `pandas.DataFrame` with a row for each mapping. A mapping inside a row becomes columns: "outer.inner".

    Args:
        rows: the rows.
        columns: the columns of a table without rows.

    Raises:
        MissingPart: if pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingPart("Tables of results need pandas", "notebook") from error
    listed = [dict(row) for row in rows]
    return pandas.json_normalize(listed) if listed else pandas.DataFrame(columns=list(columns))
