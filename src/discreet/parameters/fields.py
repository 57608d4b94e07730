"""Read the parameters of an algorithm from the fields of its dataclass."""

import inspect
import types
import typing
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin

from discreet.errors import UsageError
from discreet.parameters.docstrings import read_attributes, read_symbols

_PROJECT = __name__.split(".")[0]
_OPTIONS = {
    "about": "seed_topic",
    "alike": "merge_similarity",
    "first": "cluster_order",
    "shape": "logit_transform",
    "share": "top_p",
    "uses": "questions_per_unit",
    "wanted": "target_units",
}
"""The option names of fields on the command line. Vaults store the field names, so those cannot change. The metadata of
a field may have another `option`."""
_WORDS = {int: "whole number", float: "number", bool: "yes or no", str: "text"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of an algorithm.

    Attributes:
        name: the name of the field.
        option: the name on the command line; usually the same.
        kind: the type of one value, such as int.
        allowed: all values that a `Literal` type permits; empty for other types.
        several: whether the value is a tuple of values.
        optional: whether None is a value.
        required: whether the field has no default.
        default: the default; None if there is no default.
        meaning: the description in the docstring.
        symbol: the symbol in the paper; "" if the docstring names none.
    """

    name: str
    option: str
    kind: Any
    allowed: tuple[str, ...]
    several: bool
    optional: bool
    required: bool
    default: Any
    meaning: str
    symbol: str

    @property
    def expected(self) -> str:
        """The type in words."""
        if self.allowed:
            return f"one of {', '.join(self.allowed)}"
        word = _WORDS.get(self.kind, "name of an algorithm")
        return f"{word}, or several" if self.several else word

    @property
    def spelled(self) -> str:
        """The option with its hyphens, as the user types it."""
        return "--" + self.option.replace("_", "-")


def read_parameters(kind: type) -> tuple[Parameter, ...]:
    """Return the parameters of a dataclass, in the order of its fields.

    Raises:
        UsageError: if `kind` is not a dataclass.
    """
    if not is_dataclass(kind):
        raise UsageError(
            f"'{kind.__name__}' is not a dataclass, so it has no parameters. Decorate the class with @dataclass."
        )
    texts, symbols, hints = read_attributes(kind), read_symbols(kind), _hints(kind)
    return tuple(
        _parameter(kind, field, hints.get(field.name, field.type), texts.get(field.name, ""), symbols)
        for field in fields(kind)
        if field.init and not field.metadata.get("hidden")
    )


def _parameter(kind: type, field: Field[Any], hint: Any, meaning: str, symbols: dict[str, str]) -> Parameter:
    one, optional = _without_none(hint)
    several = get_origin(one) in (tuple, list)
    if several:
        one = (get_args(one) or (str,))[0]
    allowed = tuple(str(value) for value in get_args(one)) if get_origin(one) is Literal else ()
    default = _default(field)
    renamed = _OPTIONS.get(field.name, field.name) if _is_own(kind, field.name) else field.name
    return Parameter(
        name=field.name,
        option=field.metadata.get("option", renamed),
        kind=str if allowed else one if isinstance(one, type) else type(default),
        allowed=allowed,
        several=several,
        optional=optional,
        required=default is MISSING,
        default=None if default is MISSING else default,
        meaning=meaning,
        symbol=symbols.get(field.name, ""),
    )


def _hints(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except (NameError, TypeError):  # a name that only type checkers import; the defaults give the types
        return {}


def _without_none(hint: Any) -> tuple[Any, bool]:
    """Return the first type other than None, and whether None is one of the alternatives."""
    if get_origin(hint) not in (typing.Union, types.UnionType):
        return hint, False
    others = [one for one in get_args(hint) if one is not type(None)]
    return others[0], len(others) < len(get_args(hint))


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _is_own(kind: type, name: str) -> bool:
    """Return whether this project defines the field. A plug-in keeps its own names."""
    owner = next((base for base in kind.__mro__ if name in inspect.get_annotations(base)), kind)
    return owner.__module__.split(".")[0] == _PROJECT
